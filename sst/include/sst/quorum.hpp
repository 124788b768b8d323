// SPDX-License-Identifier: MIT
// Which members are enough for an agreement, and whether they are there.
#pragma once

#include <cstdint>

namespace sst {

/// Which members are enough to decide.
enum class Quorum : std::uint8_t {
  /// More than half of those that take part. Right whatever processes believe of each other: with
  /// partitions, and with processes that were given up and wake. Half is not enough: of two
  /// members no survivor decides alone.
  kMajority,
  /// Any members of which each has found that all the others are gone; so a single survivor goes
  /// on. Right as long as every process that the fabric calls failed or left has ended, which shm
  /// knows from the operating system. With a partition, or a process given up though it lives, both
  /// sides may decide for themselves.
  kSurvivors,
};

/// Whether a member can still decide.
enum class AgreementState : std::uint8_t {
  /// As far as this process knows, a quorum is there.
  kWorking,
  /// Nobody who takes part, and is not known to be gone, has a quorum of members that it does not
  /// know to be gone: nothing can be decided. With kSurvivors this passes when all have noticed a
  /// death; with kMajority only if a removal is on its way.
  kNoQuorum,
  /// The others have agreed that this process is gone, and go on without it. It stays so.
  kRemoved,
};

}  // namespace sst
