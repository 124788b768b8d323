// SPDX-License-Identifier: MIT
// Looks for the changes around a time.
#include "truth.hpp"

#include <algorithm>

namespace accuracy {
namespace {

/// A core may run the reading of the clock a little before or after what stands beside it.
constexpr std::int64_t kClockSlack = 1000;

std::uint64_t distance(std::uint64_t a, std::uint64_t b) noexcept { return a < b ? b - a : a - b; }

}  // namespace

Figures deviation(std::span<const Change> changes, const Figures& said, std::int64_t from,
                  std::int64_t to) noexcept {
  from -= kClockSlack;
  to += kClockSlack;
  // What a change brought was there until the next one was over.
  auto next = std::partition_point(changes.begin() + 1, changes.end(),
                                   [from](const Change& change) { return change.after < from; });
  Figures least{UINT64_MAX, UINT64_MAX};
  for (auto change = next - 1;;) {
    least.threads = std::min(least.threads, distance(said.threads, change->now.threads));
    least.connections =
        std::min(least.connections, distance(said.connections, change->now.connections));
    if (++change == changes.end() || change->before > to) return least;
  }
}

}  // namespace accuracy
