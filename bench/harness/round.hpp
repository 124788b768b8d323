// SPDX-License-Identifier: MIT
// Rounds of interleaved batches, and which of them were run on a machine that was near.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/harness/canary.hpp"
#include "bench/harness/constants.hpp"

namespace bench {

/// One batch of each variant, in order, with a look at the machine before the first, between any
/// two, and after the last.
struct Round {
  std::vector<double> figures;   // one a variant, in the case's unit
  std::vector<Canary> canaries;  // one more than figures
  double waited = 0;  // the largest share of a batch for which a process waited for its core
};

/// What the canaries of a round that counts keep to: a near one, or, for a bench that is to run on
/// cores far from each other, a far one.
struct Limits {
  double round_trip_ns = kNearThresholdNs;  // below this; far: at least this
  double core_speed = kMinCoreSpeed;        // at least this
  bool far = false;
};

/// The rounds that a report rests on.
struct Selection {
  std::vector<Round> rounds;
  bool near = false;  // all of them count: were near, or far where that was asked for
};

/// Near, or far where the limits ask for that.
bool is_near(const Canary& canary, const Limits& limits) noexcept;

/// A round is near when every canary around its batches is, and no process had to wait for its core
/// for more than kMaxCoreWait of a batch.
bool is_near(const Round& round, const Limits& limits) noexcept;

/// True once a case needs no more rounds: `wanted` near ones, or kMaxRoundsFactor times `wanted` in
/// all (in a smoke run: `wanted` of any kind).
bool enough_rounds(const std::vector<Round>& rounds, std::size_t wanted, const Limits& limits,
                   bool smoke) noexcept;

/// The first `wanted` near rounds. When there are fewer, the rest is filled with the last of the
/// far ones and the selection is not near.
Selection select_rounds(const std::vector<Round>& rounds, std::size_t wanted, const Limits& limits);

/// Figure `variant` of every round.
std::vector<double> figures_of(const std::vector<Round>& rounds, std::size_t variant);

/// Figure `over` / figure `under` of every round.
std::vector<double> quotients_of(const std::vector<Round>& rounds, std::size_t over,
                                 std::size_t under);

/// Figure `over` / half of the mean of the round trips just before and just after it.
std::vector<double> round_trip_quotients_of(const std::vector<Round>& rounds, std::size_t over);

/// The largest share of a batch for which a process waited for its core, over all rounds.
double waited_of(const std::vector<Round>& rounds) noexcept;

/// The lowest speed of a core beside any batch of any round.
double core_speed_of(const std::vector<Round>& rounds) noexcept;

/// All round trips of all rounds.
std::vector<double> round_trips_of(const std::vector<Round>& rounds);

}  // namespace bench
