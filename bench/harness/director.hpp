// SPDX-License-Identifier: MIT
// Process 0's half of the command loop: every step of a bench, done together with the children.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/canary.hpp"
#include "bench/harness/case.hpp"
#include "bench/harness/channel.hpp"
#include "bench/harness/control_block.hpp"
#include "bench/harness/core_speed.hpp"
#include "bench/harness/watchdog.hpp"

namespace bench {

/// What a batch gave.
struct Outcome {
  double figure = 0;   // what the variant returned
  double took_ms = 0;  // how long the parent measured, or else how long its side took
  double waited = 0;   // the largest share of it for which a process waited for its core
};

/// Each method posts a command, does process 0's share and returns when all children have done
/// theirs. The children run Worker::serve(). Owner thread only.
class Director {
 public:
  Director(ControlBlock& block, Channel& channel, const std::vector<Case>& cases,
           Watchdog& watchdog, bool smoke) noexcept;

  void prepare(std::size_t case_index);
  void finish(std::size_t case_index);

  /// How the machine is now.
  Canary canary();

  /// One batch. Passes on what the variant throws.
  Outcome batch(std::size_t case_index, std::size_t variant_index, std::uint64_t iterations);

  /// Lets the children return from Worker::serve(). The last call.
  void quit();

 private:
  void post(const Command& command, const std::string& step);
  void await_children();

  ControlBlock& block_;
  Channel& channel_;
  const std::vector<Case>& cases_;
  Watchdog& watchdog_;
  CoreSpeed core_speed_;
  bool smoke_;
  std::uint32_t posted_ = 0;
};

}  // namespace bench
