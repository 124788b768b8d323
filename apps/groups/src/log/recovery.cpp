// SPDX-License-Identifier: MIT
// Compares the logs of members by views and ends.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "dtutils/error.hpp"
#include "groups/log_recovery.hpp"

namespace groups {

LogSummary summary(const Log& log) { return {log.extent(), log.views()}; }

std::vector<std::byte> to_bytes(const LogSummary& summary) {
  static_assert(sizeof(LogExtent) == 24 && sizeof(LogView) == 16);
  std::vector<std::byte> bytes(sizeof(LogExtent) + summary.views.size() * sizeof(LogView));
  std::memcpy(bytes.data(), &summary.extent, sizeof(LogExtent));
  if (!summary.views.empty()) {
    std::memcpy(bytes.data() + sizeof(LogExtent), summary.views.data(),
                summary.views.size() * sizeof(LogView));
  }
  return bytes;
}

LogSummary from_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(LogExtent) ||
      (bytes.size() - sizeof(LogExtent)) % sizeof(LogView) != 0) {
    throw dtutils::Error("the summary of a log", "it has a length that none has",
                         "start the same program everywhere");
  }
  LogSummary found;
  std::memcpy(&found.extent, bytes.data(), sizeof(LogExtent));
  found.views.resize((bytes.size() - sizeof(LogExtent)) / sizeof(LogView));
  if (!found.views.empty()) {
    std::memcpy(found.views.data(), bytes.data() + sizeof(LogExtent),
                found.views.size() * sizeof(LogView));
  }
  return found;
}

std::optional<std::size_t> longest_log(std::span<const std::optional<LogSummary>> logs) {
  std::optional<std::size_t> best;
  std::size_t come = 0;
  const auto rank = [&](std::size_t i) {
    return std::tuple(logs[i]->extent.view, logs[i]->extent.end);
  };
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (!logs[i]) continue;
    ++come;
    if (!best || rank(i) > rank(*best)) best = i;
  }
  return 2 * come > logs.size() ? best : std::nullopt;
}

std::uint64_t agrees_up_to(const LogSummary& mine, const LogSummary& chosen) {
  const auto end_of = [](const LogSummary& log, std::size_t i) {
    return i + 1 < log.views.size() ? log.views[i + 1].first : log.extent.end;
  };
  // What both have in one view is the same, and so is all before it.
  for (std::size_t i = mine.views.size(); i-- > 0;) {
    for (std::size_t j = chosen.views.size(); j-- > 0;) {
      if (mine.views[i].view != chosen.views[j].view) continue;
      const std::uint64_t end = std::min(end_of(mine, i), end_of(chosen, j));
      if (end > std::max(mine.views[i].first, chosen.views[j].first)) return end;
    }
  }
  // One has truncated what the other has, or they have nothing in common.
  return std::min({mine.extent.first, chosen.extent.first, mine.extent.end, chosen.extent.end});
}

}  // namespace groups
