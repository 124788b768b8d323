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

/// Bytes of a name that are worth a line with its numbers.
constexpr std::size_t kLeastName = 6;

/// 1234567 as 1.23 M.
std::string short_form(double value) {
  constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T", " P", " E"};
  // From here on three digits would be rounded to four.
  constexpr double kFour = 999.5;
  std::size_t prefix = 0;
  while (value >= kFour && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  return prefix == 0 && value == static_cast<double>(static_cast<std::uint64_t>(value))
             ? fmt::format("{:.0f}", value)
             : fmt::format("{:.3g}{}", value, kPrefixes[prefix]);
}

/// One byte for each character: what is no visible ASCII takes other room, or controls a terminal.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    if (c >= ' ' && c < 0x7f) {
      result.push_back(c);
    } else if (!continues || result.empty()) {
      result.push_back('?');
    }
  }
  return result;
}

/// The text in so many bytes, which ends with ~ where something is missing; 0: all of it.
std::string fit(std::string text, std::size_t width) {
  if (width == 0 || text.size() <= width) return text;
  text.resize(width);
  text.back() = '~';
  return text;
}

/// A number in a line of its own, whole or not at all.
std::string number_line(const std::string& number, std::size_t width) {
  if (number.size() > width) return std::string(width, '#');
  return fmt::format("{:>{}}", number, std::min(width, number.size() + 2));
}

/// A counter: its name, its number and its rate, in so many bytes; in three lines where there is no
/// room for them in one.
std::vector<std::string> figure_lines(const std::string& name, const std::string& now,
                                      const std::string& rate, std::size_t width) {
  const std::size_t for_now = std::max(kNumber, now.size() + 1);
  const std::size_t for_rate = std::max(kNumber, rate.size() + 1);
  if (width >= kLeastName + for_now + for_rate) {
    const std::size_t for_name = width - for_now - for_rate;
    return {fmt::format("{:<{}}{:>{}}{:>{}}", fit(name, for_name), for_name, now, for_now, rate,
                        for_rate)};
  }
  std::vector<std::string> lines{fit(name, width)};
  if (!now.empty()) lines.push_back(number_line(now, width));
  if (!rate.empty()) lines.push_back(number_line(rate + "/s", width));
  return lines;
}

}  // namespace

std::optional<double> rate_of(const Job& before, const Job& now, std::size_t process,
                              std::size_t figure) {
  const Figure& current = now.processes[process].figures[figure];
  if (current.level || process >= before.processes.size()) return std::nullopt;
  const auto& old = before.processes[process].figures;
  const std::chrono::duration<double> took = now.at - before.at;
  if (figure >= old.size() || old[figure].name != current.name || took.count() <= 0 ||
      current.value < old[figure].value) {
    return std::nullopt;
  }
  return static_cast<double>(current.value - old[figure].value) / took.count();
}

std::vector<std::string> table(const Job& job, const Job& before, std::uint64_t pid,
                               std::size_t width, std::string_view filter) {
  const bool wide = width == 0 || width >= kWide;
  const std::size_t before_figure = wide ? kWho + 1 : 2;
  const std::size_t all = wide ? kWide : width;
  const std::size_t indent = all > before_figure ? before_figure : 0;
  std::vector<std::string> lines;
  const auto add = [&](const std::string& who, const std::string& figure) {
    lines.push_back(fit(fmt::format("{:<{}}{}", who, indent, figure), width));
  };
  const auto add_figure = [&](std::string who, const std::string& name, const std::string& now,
                              const std::string& rate) {
    for (const std::string& line : figure_lines(plain(name), now, rate, all - indent)) {
      add(who, line);
      who.clear();
    }
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
  add_figure(
      wide ? fmt::format("{:>7} {:>8} {:>7} {:<20}", "process", "pid", "machine", "host") : "",
      "counter", "now", "a second");
  std::string who = "all";
  const auto add_who = [&] {
    if (!wide && !who.empty()) add(who, "");
    if (!wide) who.clear();
  };
  for (const auto& [name, rate] : totals) {
    if (name.find(filter) == std::string::npos) continue;
    add_who();
    add_figure(who, name, "", short_form(rate));
    who.clear();
  }
  for (std::size_t i = 0; i < job.processes.size(); ++i) {
    const Process& process = job.processes[i];
    const std::string host = plain(process.host);
    who = wide ? fmt::format("{:>7} {:>8} {:>7} {:<20}", process.number, process.pid,
                             process.machine, fit(host, 20))
               : fmt::format("process {}, pid {}, {}", process.number, process.pid, host);
    if (process.figures.empty()) {
      const std::string why = process.state == "ok" ? "no counters" : plain(process.state);
      if (!wide) add_who();
      add(who, why);
    }
    for (std::size_t n = 0; n < process.figures.size(); ++n) {
      const Figure& figure = process.figures[n];
      if (figure.name.find(filter) == std::string::npos) continue;
      const auto rate = rate_of(before, job, i, n);
      add_who();
      const std::string unit = plain(figure.unit);
      add_figure(who, figure.name, short_form(static_cast<double>(figure.value)) + unit,
                 rate ? short_form(*rate) + unit : "");
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
  if (rows > 2) lines.push_back(fit(fmt::format("... {} more lines: --filter", missing), width));
}

}  // namespace top
