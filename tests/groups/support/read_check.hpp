// SPDX-License-Identifier: MIT
// A checker of reads without messages.
#pragma once

#include <atomic>
#include <cstdint>

#include "groups/groups.hpp"
#include "support/require.hpp"

namespace support {

/// Reads of one process, one after the other. Each has to see what anybody had delivered when it
/// began.
class ReadCheck {
 public:
  /// `anywhere` is shared by the job: the end of what somebody has delivered.
  explicit ReadCheck(std::atomic<std::uint64_t>& anywhere) : anywhere_(anywhere) {}

  /// After each round of progress.
  void step(groups::OrderedGroup& group) {
    std::uint64_t known = anywhere_;
    while (known < group.next_sequence() &&
           !anywhere_.compare_exchange_weak(known, group.next_sequence())) {
    }
    if (ticket_ == 0) {
      expected_ = anywhere_;
      ticket_ = group.begin_read();
    } else if (group.readable() >= ticket_) {
      require(group.next_sequence() >= expected_, "a read sees what was delivered anywhere");
      ++reads;
      ticket_ = 0;
    }
  }

  /// That have run.
  std::uint64_t reads = 0;

 private:
  std::atomic<std::uint64_t>& anywhere_;
  std::uint64_t ticket_ = 0;
  std::uint64_t expected_ = 0;
};

}  // namespace support
