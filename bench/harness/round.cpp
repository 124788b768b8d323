// SPDX-License-Identifier: MIT
// Choice of rounds, and the figures in them.
#include "harness/round.hpp"

#include <algorithm>

#include "harness/constants.hpp"

namespace bench {

bool is_near(const Round& round, double threshold_ns) noexcept {
  return round.waited <= kMaxCoreWait &&
         std::all_of(round.round_trips_ns.begin(), round.round_trips_ns.end(),
                     [&](double round_trip) { return round_trip < threshold_ns; });
}

bool enough_rounds(const std::vector<Round>& rounds, std::size_t wanted, double threshold_ns,
                   bool smoke) noexcept {
  if (smoke) return rounds.size() >= wanted;
  const auto near = std::count_if(rounds.begin(), rounds.end(),
                                  [&](const Round& round) { return is_near(round, threshold_ns); });
  return static_cast<std::size_t>(near) >= wanted || rounds.size() >= kMaxRoundsFactor * wanted;
}

Selection select_rounds(const std::vector<Round>& rounds, std::size_t wanted, double threshold_ns) {
  Selection chosen;
  for (const Round& round : rounds) {
    if (chosen.rounds.size() < wanted && is_near(round, threshold_ns)) {
      chosen.rounds.push_back(round);
    }
  }
  chosen.near = chosen.rounds.size() == wanted;
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
    if (chosen.rounds.size() < wanted && !is_near(*round, threshold_ns)) {
      chosen.rounds.push_back(*round);
    }
  }
  return chosen;
}

std::vector<double> figures_of(const std::vector<Round>& rounds, std::size_t variant) {
  std::vector<double> figures;
  for (const Round& round : rounds) figures.push_back(round.figures[variant]);
  return figures;
}

std::vector<double> quotients_of(const std::vector<Round>& rounds, std::size_t over,
                                 std::size_t under) {
  std::vector<double> quotients;
  for (const Round& round : rounds) {
    quotients.push_back(round.figures[over] / round.figures[under]);
  }
  return quotients;
}

std::vector<double> round_trip_quotients_of(const std::vector<Round>& rounds, std::size_t over) {
  std::vector<double> quotients;
  for (const Round& round : rounds) {
    const double mean = (round.round_trips_ns[over] + round.round_trips_ns[over + 1]) / 2;
    quotients.push_back(round.figures[over] / (mean / 2));
  }
  return quotients;
}

double waited_of(const std::vector<Round>& rounds) noexcept {
  double waited = 0;
  for (const Round& round : rounds) waited = std::max(waited, round.waited);
  return waited;
}

std::vector<double> round_trips_of(const std::vector<Round>& rounds) {
  std::vector<double> all;
  for (const Round& round : rounds) {
    all.insert(all.end(), round.round_trips_ns.begin(), round.round_trips_ns.end());
  }
  return all;
}

}  // namespace bench
