// SPDX-License-Identifier: MIT
// A limit that a figure has to keep.
#pragma once

#include <string>

namespace bench {

/// Reads ">= NUMBER" (at least) and "<= NUMBER" (at most).
class Bar {
 public:
  /// Throws std::invalid_argument that quotes `text` when it is neither.
  explicit Bar(const std::string& text);

  bool met_by(double figure) const noexcept;

 private:
  bool at_least_;
  double limit_;
};

}  // namespace bench
