// SPDX-License-Identifier: MIT
// A child's half of the command loop.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/harness/channel.hpp"
#include "bench/harness/control_block.hpp"
#include "bench/harness/core_speed.hpp"

namespace bench {

/// Does what Director posts. Between steps it sleeps, so that its core is free for a program that
/// process 0 may run meanwhile. Owner thread only.
class Worker {
 public:
  Worker(ControlBlock& block, Channel& channel, const std::vector<Case>& cases,
         bool smoke) noexcept;

  /// Returns once told to quit. Passes on what the bench's functions throw.
  void serve();

 private:
  Command next_command();
  void perform(const Command& command);

  ControlBlock& block_;
  Channel& channel_;
  const std::vector<Case>& cases_;
  CoreSpeed core_speed_;
  bool smoke_;
  std::uint32_t seen_ = 0;
};

/// Leaves the reason for which process `rank` is about to end where Watchdog reports it from. Text
/// beyond kErrorTextBytes is cut.
void record_failure(ControlBlock& block, int rank, std::string_view reason) noexcept;

}  // namespace bench
