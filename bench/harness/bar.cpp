// SPDX-License-Identifier: MIT
// Bars.
#include "bench/harness/bar.hpp"

#include <stdexcept>

namespace bench {

Bar::Bar(const std::string& text) : at_least_(text.starts_with(">=")), limit_(0) {
  std::size_t used = 0;
  try {
    if (at_least_ || text.starts_with("<=")) limit_ = std::stod(text.substr(2), &used);
  } catch (const std::logic_error&) {
    used = 0;
  }
  if (used == 0 || used + 2 != text.size()) {
    throw std::invalid_argument("a bar reads \">= NUMBER\" or \"<= NUMBER\", not \"" + text + "\"");
  }
}

bool Bar::met_by(double figure) const noexcept {
  return at_least_ ? figure >= limit_ : figure <= limit_;
}

}  // namespace bench
