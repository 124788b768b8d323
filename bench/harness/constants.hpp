// SPDX-License-Identifier: MIT
// The harness's fixed numbers in one place, each with its reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace bench {

/// A cache-line round trip below this counts as "near". A virtual machine with two cores of one
/// chip was seen at 50-120 ns most of the time and at about 500 ns while the host had moved a
/// virtual CPU elsewhere. 200 ns lies well clear of both. `--near` changes it for other machines.
inline constexpr double kNearThresholdNs = 200.0;

/// A batch in which a process waited for its core for more than this share of the time counts as
/// far too: something else ran there. A quiet machine was seen well below one thousandth.
inline constexpr double kMaxCoreWait = 0.01;

/// A batch beside which a core computed at less than this share of its best speed counts as far: a
/// neighbour was at work on its second hardware thread. Such cores were seen at 0.5-0.8, others at
/// 0.97-1. `--core-speed` changes it.
inline constexpr double kMinCoreSpeed = 0.9;

/// Rounds that a figure rests on: at least five, so that a median means something.
inline constexpr int kMinRuns = 5;
inline constexpr int kDefaultRuns = 7;
inline constexpr int kSmokeRuns = 2;

/// Far rounds are repeated until a case has seen this many times the wanted rounds.
inline constexpr int kMaxRoundsFactor = 3;

/// Seconds that one bench may spend in all waiting for the machine to become near again.
inline constexpr double kPatienceSeconds = 10.0;

/// What a bench exits with when it cannot measure what it was asked for; ctest calls it skipped.
inline constexpr int kSkipped = 77;

/// Length of a batch. At 50 ms the 20-50 ns of a clock reading are below one millionth.
inline constexpr double kBatchMs = 50.0;
inline constexpr double kSmokeBatchMs = 2.0;

/// The round trip is the median of this many chunks, so that one preemption does not count.
inline constexpr int kCanaryChunks = 15;
inline constexpr std::uint64_t kCanaryTripsPerChunk = 1000;
inline constexpr std::uint64_t kSmokeCanaryTripsPerChunk = 50;

/// So much for the speed of a core: chunks of 5 us, the median of which counts.
inline constexpr int kCoreSpeedChunks = 15;
inline constexpr int kCoreSpeedLoops = 900;

/// Longest time for one step (a set-up, a batch, a barrier) before the bench gives up.
inline constexpr std::chrono::seconds kStepLimit{60};

inline constexpr int kMaxProcesses = 16;
inline constexpr int kCountersPerProcess = 8;
inline constexpr std::size_t kMailboxBytes = 8192;
inline constexpr std::size_t kErrorTextBytes = 2048;
inline constexpr std::size_t kCacheLine = 64;

static_assert(kMinRuns >= 5 && kDefaultRuns >= kMinRuns);
static_assert(kSmokeBatchMs < kBatchMs);

}  // namespace bench
