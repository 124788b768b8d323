// SPDX-License-Identifier: MIT
// Report: tables and rows.
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include "common/figures.hpp"
#include "dtutils/error.hpp"

namespace scale {
namespace {

/// Shares of the closed form that are worth telling.
constexpr double kShare = 0.1;
constexpr double kClose = 0.1;

struct Summary {
  double median;
  double min;
  double max;
};

Summary summarize(std::vector<double> all) {
  std::ranges::sort(all);
  return {all[all.size() / 2], all.front(), all.back()};
}

/// Times in us, rates in thousands a second.
std::string shown(const Point& point, double figure) {
  return point.rate ? fmt::format("{:.1f}", figure / 1e3) : fmt::format("{:.2f}", figure / 1e3);
}

/// The largest first.
std::string parts(const Terms& terms) {
  auto all = terms.all();
  std::ranges::sort(all, {}, [](const auto& term) { return std::pair(-term.second, term.first); });
  std::string text;
  for (const auto& [name, ns] : all) {
    if (ns < kShare * terms.total()) break;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", name, 100 * ns / terms.total());
  }
  return text;
}

common::Figures row(const Point& point, std::uint32_t nodes, std::string_view line,
                    const Summary& figures) {
  return {{"case", fmt::format("{}/{}", point.curve, line)},
          {"size", std::uint64_t{nodes}},
          {"unit", std::string(point.rate ? "1/s" : "ns")},
          {"median", figures.median},
          {"min", figures.min},
          {"max", figures.max},
          {"near", std::uint64_t{1}}};
}

}  // namespace

void Report::add(std::string_view of_case, std::uint32_t nodes, std::vector<Point> points) {
  for (Point& point : points) {
    const auto same = [&](const Curve& each) {
      return each.points.front().point.curve == point.curve;
    };
    auto curve = std::ranges::find_if(curves_, same);
    if (curve == curves_.end()) curve = curves_.insert(curve, Curve{of_case, {}});
    curve->points.push_back({nodes, std::move(point)});
  }
}

void Report::end(std::string_view of_case, std::string why) {
  for (Curve& curve : curves_) {
    if (curve.of_case == of_case) curve.end = why;
  }
}

std::string Report::table(const Curve& curve) {
  const Point& first = curve.points.front().point;
  std::string text = fmt::format(
      "| nodes | simulated, {} | least to most | closed form | simulated / closed form | "
      "parts of the closed form |\n|---|---|---|---|---|---|\n",
      first.rate ? "thousand/s" : "us");
  for (const auto& [nodes, point] : curve.points) {
    const Summary is = summarize(point.measured);
    text +=
        fmt::format("| {} | {} | {} - {} | {} | {:.2f} | {} |\n", nodes, shown(point, is.median),
                    shown(point, is.min), shown(point, is.max), shown(point, point.expectation()),
                    is.median / point.expectation(), parts(point.expected));
  }
  return text;
}

std::string Report::markdown() const {
  std::string text = "# Scale, in simulations\n";
  for (const Curve& curve : curves_) {
    const std::string_view name = curve.points.front().point.curve;
    text += fmt::format("\n## {}\n\n![{}]({}.svg)\n\n{}\n{}\n", name, name, name, table(curve),
                        explanation(name));
    if (!curve.end.empty()) text += fmt::format("\nIt ends there: {}.\n", curve.end);
  }
  return text;
}

void Report::write_json(const std::string& path) const {
  std::vector<common::Figures> rows;
  for (const Curve& curve : curves_) {
    for (const auto& [nodes, point] : curve.points) {
      const double expected = point.expectation();
      rows.push_back(row(point, nodes, "simulated", summarize(point.measured)));
      rows.push_back(row(point, nodes, "closed form", {expected, expected, expected}));
    }
  }
  std::ofstream file(path);
  file << common::json_array(rows) << std::flush;
  if (!file) throw dtutils::Error(path, "it cannot be written", "give the path of a file", errno);
}

bool Report::all_close() const noexcept {
  return std::ranges::all_of(curves_, [](const Curve& curve) {
    return std::ranges::all_of(curve.points, [](const Measured& each) {
      const double ratio = summarize(each.point.measured).median / each.point.expectation();
      return std::abs(ratio - 1) < kClose;
    });
  });
}

}  // namespace scale
