// SPDX-License-Identifier: MIT
// Median, min and max of the runs of one figure.
#pragma once

#include <vector>

namespace bench {

struct Summary {
  double median = 0;
  double min = 0;
  double max = 0;
  int runs = 0;
};

/// The median of an even number of figures is the mean of the middle two. Throws
/// std::invalid_argument when there are none.
Summary summarize(std::vector<double> figures);

/// True for a figure that a measurement can have: finite and above zero.
bool is_sound(double figure) noexcept;

}  // namespace bench
