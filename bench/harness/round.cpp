// SPDX-License-Identifier: MIT
// Choice of rounds, and the figures in them.
#include "bench/harness/round.hpp"

#include <algorithm>

namespace bench {

bool is_near(const Canary& canary, const Limits& limits) noexcept {
  const bool far = canary.round_trip_ns >= limits.round_trip_ns;
  return far == limits.far && canary.core_speed >= limits.core_speed;
}

bool is_near(const Round& round, const Limits& limits) noexcept {
  return round.waited <= kMaxCoreWait &&
         std::all_of(round.canaries.begin(), round.canaries.end(),
                     [&](const Canary& canary) { return is_near(canary, limits); });
}

bool enough_rounds(const std::vector<Round>& rounds, std::size_t wanted, const Limits& limits,
                   bool smoke) noexcept {
  if (smoke) return rounds.size() >= wanted;
  const auto near = std::count_if(rounds.begin(), rounds.end(),
                                  [&](const Round& round) { return is_near(round, limits); });
  return static_cast<std::size_t>(near) >= wanted || rounds.size() >= kMaxRoundsFactor * wanted;
}

Selection select_rounds(const std::vector<Round>& rounds, std::size_t wanted,
                        const Limits& limits) {
  Selection chosen;
  for (const Round& round : rounds) {
    if (chosen.rounds.size() < wanted && is_near(round, limits)) {
      chosen.rounds.push_back(round);
    }
  }
  chosen.near = chosen.rounds.size() == wanted;
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
    if (chosen.rounds.size() < wanted && !is_near(*round, limits)) {
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
    const double sum = round.canaries[over].round_trip_ns + round.canaries[over + 1].round_trip_ns;
    quotients.push_back(round.figures[over] / (sum / 4));
  }
  return quotients;
}

double waited_of(const std::vector<Round>& rounds) noexcept {
  double waited = 0;
  for (const Round& round : rounds) waited = std::max(waited, round.waited);
  return waited;
}

double core_speed_of(const std::vector<Round>& rounds) noexcept {
  double lowest = 1;
  for (const Round& round : rounds) {
    for (const Canary& canary : round.canaries) lowest = std::min(lowest, canary.core_speed);
  }
  return lowest;
}

std::vector<double> round_trips_of(const std::vector<Round>& rounds) {
  std::vector<double> all;
  for (const Round& round : rounds) {
    for (const Canary& canary : round.canaries) all.push_back(canary.round_trip_ns);
  }
  return all;
}

}  // namespace bench
