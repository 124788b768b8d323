// SPDX-License-Identifier: MIT
// Order statistics.
#include "bench/harness/stats.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace bench {

Summary summarize(std::vector<double> figures) {
  if (figures.empty()) throw std::invalid_argument("no figures to summarize");
  std::sort(figures.begin(), figures.end());
  const std::size_t half = figures.size() / 2;
  const double median =
      figures.size() % 2 == 1 ? figures[half] : (figures[half - 1] + figures[half]) / 2;
  return {median, figures.front(), figures.back(), static_cast<int>(figures.size())};
}

bool is_sound(double figure) noexcept { return std::isfinite(figure) && figure > 0; }

}  // namespace bench
