// SPDX-License-Identifier: MIT
// Who sends which block to whom in which step: the schedules of a large multicast.
#pragma once

#include <cstdint>
#include <vector>

namespace groups {

/// How the blocks of a message spread (RDMC, DSN 2018, section 4). With k blocks, n members and
/// l = ceil(log2 n), a step being the time of one block on one link:
enum class Schedule : std::uint8_t {
  /// The root sends all blocks to one member after the other: k (n - 1) steps.
  kSequential,
  /// Each member passes every block on to the next one: k + n - 2 steps.
  kChain,
  /// Who has the whole message sends the whole message: k l steps.
  kBinomialTree,
  /// Members are the vertices of a hypercube and exchange blocks along another dimension in each
  /// step: k + l - 1 steps, the fewest that there can be. When n is no power of two, some vertices
  /// are pairs of members, which exchange blocks between them; that this costs no further step is
  /// tested for up to 70 members, not proved.
  kBinomialPipeline,
};

/// One block on its way. Members are numbered from the root, which is 0.
struct Hop {
  /// From 0.
  std::uint32_t step;
  /// Holds the block at the beginning of the step.
  std::uint32_t from;
  /// Holds the block at the end of the step.
  std::uint32_t to;
  /// From 0.
  std::uint32_t block;
  friend bool operator==(const Hop&, const Hop&) = default;
};

/// All hops of a message, in the order of their steps. Every member but the root gets each block
/// once; in one step it sends at most one block and receives at most one. A function of its
/// arguments alone, so that all members have the same result; it takes time and memory in
/// proportion to members x blocks. Any thread; setup only.
std::vector<Hop> hops(Schedule schedule, std::uint32_t members, std::uint32_t blocks);

/// As it is spelled in the paper, for messages: "binomial pipeline". Any thread, wait-free.
const char* to_string(Schedule schedule) noexcept;

}  // namespace groups
