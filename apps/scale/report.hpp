// SPDX-License-Identifier: MIT
// What was measured: tables in Markdown, and rows for scripts/plot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cases.hpp"

namespace scale {

/// Curves in the order in which their first points came.
class Report {
 public:
  void add(std::string_view of_case, std::uint32_t nodes, std::vector<Point> points);
  /// The curves of the case end early.
  void end(std::string_view of_case, std::string why);

  std::string markdown() const;
  /// The rows that a bench writes. Throws Error.
  void write_json(const std::string& path) const;
  /// Whether all that was measured is within a tenth of its closed form.
  bool all_close() const noexcept;

 private:
  struct Measured {
    std::uint32_t nodes;
    Point point;
  };
  struct Curve {
    std::string_view of_case;
    std::vector<Measured> points;
    std::string end = {};
  };
  static std::string table(const Curve& curve);

  std::vector<Curve> curves_;
};

}  // namespace scale
