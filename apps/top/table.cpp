// SPDX-License-Identifier: MIT
// Columns, and what is left of them on a narrow terminal.
#include "table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace top {
namespace {

/// Bytes of a line with all columns, and of its first four.
constexpr std::size_t kWide = 102, kWho = 45;
/// Bytes of a number with its unit, and the space in front of it.
constexpr std::size_t kNumber = 11;

/// 1234567 as 1.23 M.
std::string short_form(double value) {
  constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T", " P", " E"};
  std::size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  return prefix == 0 && value == static_cast<double>(static_cast<std::uint64_t>(value))
             ? fmt::format("{:.0f}", value)
             : fmt::format("{:.3g}{}", value, kPrefixes[prefix]);
}

/// A counter: its name, its number and its rate, in so many bytes.
std::string figure_line(std::string_view name, const std::string& now, const std::string& rate,
                        std::size_t width) {
  const std::size_t for_name = width > 2 * kNumber ? width - 2 * kNumber : 1;
  return fmt::format("{:<{}}{:>{}}{:>{}}", name.substr(0, for_name), for_name, now, kNumber, rate,
                     kNumber);
}

}  // namespace

/// What a total grew by in a second since `before`; nothing for levels and new counters.
std::optional<double> rate_of(const Job& before, const Job& now, std::size_t process,
                              std::size_t figure) {
  const Figure& current = now.processes[process].figures[figure];
  if (current.level || process >= before.processes.size()) return std::nullopt;
  const auto& old = before.processes[process].figures;
  const std::chrono::duration<double> took = now.at - before.at;
  if (figure >= old.size() || old[figure].name != current.name || took.count() <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(current.value - old[figure].value) / took.count();
}

std::vector<std::string> table(const Job& job, const Job& before, std::uint64_t pid,
                               std::size_t width, std::string_view filter) {
  const bool wide = width == 0 || width >= kWide;
  const std::size_t before_figure = wide ? kWho + 1 : 2;
  const std::size_t for_figure = std::max<std::size_t>(wide ? kWide : width, 2) - before_figure;
  std::vector<std::string> lines;
  const auto add = [&](const std::string& who, const std::string& figure) {
    lines.push_back(fmt::format("{:<{}}{}", who, before_figure, figure));
    if (width != 0 && lines.back().size() > width) lines.back().resize(width);
  };
  const auto lost = std::ranges::count_if(
      job.processes, [](const Process& process) { return process.state != "ok"; });
  add(fmt::format("job of process {}: {} processes{}", pid, job.processes.size(),
                  lost != 0 ? fmt::format(", {} without figures", lost) : ""),
      "");
  std::map<std::string, double> totals;
  for (std::size_t i = 0; i < job.processes.size(); ++i) {
    for (std::size_t n = 0; n < job.processes[i].figures.size(); ++n) {
      if (const auto rate = rate_of(before, job, i, n)) {
        totals[job.processes[i].figures[n].name] += *rate;
      }
    }
  }
  add(wide ? fmt::format("{:>7} {:>8} {:>7} {:<20}", "process", "pid", "machine", "host") : "",
      figure_line("counter", "now", "a second", for_figure));
  std::string who = "all";
  const auto add_who = [&] {
    if (!wide && !who.empty()) add(who, "");
    if (!wide) who.clear();
  };
  for (const auto& [name, rate] : totals) {
    if (name.find(filter) == std::string::npos) continue;
    add_who();
    add(who, figure_line(name, "", short_form(rate), for_figure));
    who.clear();
  }
  for (std::size_t i = 0; i < job.processes.size(); ++i) {
    const Process& process = job.processes[i];
    who = wide ? fmt::format("{:>7} {:>8} {:>7} {:<20}", process.number, process.pid,
                             process.machine, process.host.substr(0, 20))
               : fmt::format("process {}, pid {}, {}", process.number, process.pid, process.host);
    if (process.figures.empty()) {
      const std::string why = process.state == "ok" ? "no counters" : process.state;
      if (!wide) add_who();
      add(who, why);
    }
    for (std::size_t n = 0; n < process.figures.size(); ++n) {
      const Figure& figure = process.figures[n];
      if (figure.name.find(filter) == std::string::npos) continue;
      const auto rate = rate_of(before, job, i, n);
      add_who();
      add(who, figure_line(figure.name, short_form(static_cast<double>(figure.value)) + figure.unit,
                           rate ? short_form(*rate) + figure.unit : "", for_figure));
      who.clear();
    }
  }
  return lines;
}

void cut(std::vector<std::string>& lines, std::size_t rows, std::size_t width) {
  if (rows == 0 || lines.size() < rows) return;
  // The last row stays free for the cursor.
  const std::size_t shown = rows > 2 ? rows - 2 : 1;
  const std::size_t missing = lines.size() - shown;
  lines.resize(shown);
  lines.push_back(fmt::format("... {} more lines: --filter", missing));
  if (width != 0 && lines.back().size() > width) lines.back().resize(width);
}

}  // namespace top
