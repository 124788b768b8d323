// SPDX-License-Identifier: MIT
// Settings of the shm device's adversarial mode: a device that does late all it is allowed to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dtutils {

/// In the default mode the shm device executes a work request inside `ibv_post_send`. In the
/// adversarial mode a seeded engine thread executes them later: it delays, batches and interleaves
/// work across queue pairs (in order within one), lands the cache lines of one write in any order,
/// delays completions, and reports "receiver not ready" at times. Code that works only because shm
/// completes at once fails here.
struct Adversary {
  /// Makes the engine's choices; the same seed and the same posts give the same choices.
  std::uint64_t seed = 1;
  /// Longest pause before the engine looks at its queues again, in microseconds.
  std::uint32_t max_delay_us = 50;
  /// One SEND in this many is answered with an injected RNR; 0: never.
  std::uint32_t rnr_every = 16;
  /// After this many work requests in total the engine breaks the queue pair of the next one
  /// (IBV_WC_RETRY_EXC_ERR); 0: never.
  std::uint64_t break_after = 0;
  /// After this many work requests in total the engine kills (SIGKILL) the process at the other end
  /// of the next one, unless it is its own; 0: never.
  std::uint64_t kill_after = 0;
};

/// Reads "seed=7,delay=50,rnr=16,break=1000,kill=0": any subset in any order, each key once; what
/// is missing keeps its default. A bare number other than 0 is a seed. "", "0" and "off" give
/// nothing. Throws Error that quotes the part it cannot read. Setup only.
std::optional<Adversary> parse_adversary(std::string_view text);

/// The inverse, with every key, for messages: paste it into CARIAMA_SHM_ADVERSARY to repeat a run.
std::string to_string(const Adversary& adversary);

}  // namespace dtutils
