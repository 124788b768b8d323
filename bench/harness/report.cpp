// SPDX-License-Identifier: MIT
// Rows, table and JSON.
#include "bench/harness/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bench/harness/bar.hpp"

namespace bench {
namespace {

Verdict judge(const std::string& bar, double median, bool counts) {
  if (bar.empty()) return Verdict::kNoBar;
  if (!counts) return Verdict::kNotJudged;
  return Bar(bar).met_by(median) ? Verdict::kMet : Verdict::kMissed;
}

const char* to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kMet:
      return "met";
    case Verdict::kMissed:
      return "MISSED";
    case Verdict::kNotJudged:
      return "not judged";
    case Verdict::kNoBar:
      break;
  }
  return "";
}

std::size_t index_of(const Case& item, const std::string& variant) {
  const auto found = std::find_if(item.variants.begin(), item.variants.end(),
                                  [&](const Variant& other) { return other.name == variant; });
  return static_cast<std::size_t>(found - item.variants.begin());
}

std::string with_prefix(double figure, const char* unit) {
  constexpr std::array kPrefixes = {"", "k", "M", "G", "T"};
  std::size_t prefix = 0;
  while (figure >= 999.5 && prefix + 1 < kPrefixes.size()) {
    figure /= 1000;
    ++prefix;
  }
  return fmt::format("{:.3g} {}{}", figure, kPrefixes[prefix], unit);
}

}  // namespace

std::vector<Row> make_rows(const Case& item, const Selection& selection,
                           const std::vector<bool>& skipped, bool far) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& suffix, Unit unit, const std::vector<double>& figures,
                       const std::string& bar) {
    const Summary summary = summarize(figures);
    rows.push_back({suffix.empty() ? item.name : item.name + "/" + suffix, item.size, unit, summary,
                    selection.near && !far, selection.near && far,
                    summarize(round_trips_of(selection.rounds)).median,
                    core_speed_of(selection.rounds), waited_of(selection.rounds), bar,
                    judge(bar, summary.median, selection.near)});
  };

  const bool lone_variant = item.variants.size() == 1 && item.ratios.empty();
  for (std::size_t i = 0; i < item.variants.size(); ++i) {
    if (skipped[i]) continue;
    add(lone_variant ? "" : item.variants[i].name, item.unit, figures_of(selection.rounds, i),
        far ? "" : item.variants[i].bar);
  }
  for (const Ratio& ratio : item.ratios) {
    const std::size_t over = index_of(item, ratio.over);
    const bool by_round_trip = ratio.under == kHalfRoundTrip;
    const std::size_t under = by_round_trip ? over : index_of(item, ratio.under);
    if (skipped[over] || skipped[under]) continue;
    add(item.ratios.size() == 1 ? "" : ratio.over + ":" + ratio.under, Unit::kRatio,
        by_round_trip ? round_trip_quotients_of(selection.rounds, over)
                      : quotients_of(selection.rounds, over, under),
        far ? ratio.far_bar : ratio.bar);
  }
  return rows;
}

std::string format_figure(double figure, Unit unit) {
  switch (unit) {
    case Unit::kNanoseconds:
      return fmt::format("{:.{}f} ns", figure, figure < 100 ? 1 : 0);
    case Unit::kPerSecond:
      return with_prefix(figure, "/s");
    case Unit::kBytesPerSecond:
      return with_prefix(figure, "B/s");
    case Unit::kBytes:
      return with_prefix(figure, "B");
    case Unit::kRatio:
      break;
  }
  return fmt::format("{:.3f}", figure);
}

std::string format_table(const std::vector<Row>& rows) {
  constexpr std::size_t kColumns = 11;
  constexpr std::size_t kTextColumns[] = {0, 9, 10};
  std::vector<std::array<std::string, kColumns>> lines = {
      {"case", "size", "median", "min", "max", "round trip", "cores", "waited", "near", "bar", ""}};
  for (const Row& row : rows) {
    lines.push_back(
        {row.name, std::to_string(row.size), format_figure(row.summary.median, row.unit),
         format_figure(row.summary.min, row.unit), format_figure(row.summary.max, row.unit),
         format_figure(row.round_trip_ns, Unit::kNanoseconds),
         fmt::format("{:.0f} %", 100 * row.core_speed), fmt::format("{:.1f} %", 100 * row.waited),
         row.near  ? "yes"
         : row.far ? "far"
                   : "no",
         row.bar, to_string(row.verdict)});
  }
  std::array<std::size_t, kColumns> width{};
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < kColumns; ++i) width[i] = std::max(width[i], line[i].size());
  }
  std::string table;
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < kColumns; ++i) {
      const bool left = std::count(std::begin(kTextColumns), std::end(kTextColumns), i) > 0;
      text += left ? fmt::format("{:<{}}  ", line[i], width[i])
                   : fmt::format("{:>{}}  ", line[i], width[i]);
    }
    table += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return table;
}

std::string format_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    array.push_back({{"case", row.name},
                     {"size", row.size},
                     {"unit", bench::to_string(row.unit)},
                     {"median", row.summary.median},
                     {"min", row.summary.min},
                     {"max", row.summary.max},
                     {"runs", row.summary.runs},
                     {"near", row.near},
                     {"far", row.far}});
  }
  return array.dump(2) + "\n";
}

}  // namespace bench
