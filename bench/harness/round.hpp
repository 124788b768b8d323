// SPDX-License-Identifier: MIT
// Rounds of interleaved batches, and which of them were run on a machine that was near.
#pragma once

#include <cstddef>
#include <vector>

namespace bench {

/// One batch of each variant, in order, with the cache-line round trip measured before the first,
/// between any two, and after the last.
struct Round {
  std::vector<double> figures;         // one a variant, in the case's unit
  std::vector<double> round_trips_ns;  // one more than figures
  double waited = 0;  // the largest share of a batch for which a process waited for its core
};

/// The rounds that a report rests on.
struct Selection {
  std::vector<Round> rounds;
  bool near = false;  // all of them were
};

/// A round is near when every round trip around its batches is below the threshold and no process
/// had to wait for its core for more than kMaxCoreWait of a batch.
bool is_near(const Round& round, double threshold_ns) noexcept;

/// True once a case needs no more rounds: `wanted` near ones, or kMaxRoundsFactor times `wanted` in
/// all (in a smoke run: `wanted` of any kind).
bool enough_rounds(const std::vector<Round>& rounds, std::size_t wanted, double threshold_ns,
                   bool smoke) noexcept;

/// The first `wanted` near rounds. When there are fewer, the rest is filled with the last of the
/// far ones and the selection is not near.
Selection select_rounds(const std::vector<Round>& rounds, std::size_t wanted, double threshold_ns);

/// Figure `variant` of every round.
std::vector<double> figures_of(const std::vector<Round>& rounds, std::size_t variant);

/// Figure `over` / figure `under` of every round.
std::vector<double> quotients_of(const std::vector<Round>& rounds, std::size_t over,
                                 std::size_t under);

/// Figure `over` / half of the mean of the round trips just before and just after it.
std::vector<double> round_trip_quotients_of(const std::vector<Round>& rounds, std::size_t over);

/// The largest share of a batch for which a process waited for its core, over all rounds.
double waited_of(const std::vector<Round>& rounds) noexcept;

/// All round trips of all rounds.
std::vector<double> round_trips_of(const std::vector<Round>& rounds);

}  // namespace bench
