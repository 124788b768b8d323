// SPDX-License-Identifier: MIT
// Suspicion: members that show no progress for too long.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "dtutils/clock.hpp"
#include "view_tables.hpp"

namespace groups::detail {

/// Shows that this member makes progress, and watches the others. It does nothing with a patience
/// of 0. A process that did not run itself for a while suspects nobody for that. Owner thread only.
class Watch {
 public:
  explicit Watch(std::chrono::milliseconds patience) noexcept : patience_(patience) {}
  /// Begins anew, for the members of another view.
  void reset() noexcept { seen_.clear(); }
  /// Once in each look; declares failed whom it suspects.
  void look(ViewTables& tables);

 private:
  using Clock = dtutils::Clock;
  struct Seen {
    std::uint64_t beat;
    Clock::time_point when;
  };
  std::chrono::milliseconds patience_;
  Clock::time_point last_look_{};
  Clock::time_point last_beat_{};
  std::vector<Seen> seen_;
};

}  // namespace groups::detail
