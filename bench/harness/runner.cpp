// SPDX-License-Identifier: MIT
// Calibration and rounds.
#include "bench/harness/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>

#include "bench/harness/clock.hpp"
#include "bench/harness/stats.hpp"

namespace bench {

std::uint64_t scale_iterations(std::uint64_t iterations, double took_ms, double want_ms,
                               std::uint64_t limit) noexcept {
  constexpr double kMaxGrowth = 100;
  const double growth = took_ms > 0 ? std::min(want_ms / took_ms, kMaxGrowth) : kMaxGrowth;
  const double wanted = std::max(std::round(static_cast<double>(iterations) * growth), 1.0);
  return wanted < static_cast<double>(limit) ? static_cast<std::uint64_t>(wanted) : limit;
}

Runner::Runner(Director& director, const Options& options) noexcept
    : director_(director), options_(options), patience_s_(options.patience_s) {}

CaseResult Runner::run(std::size_t index, const Case& item) {
  const std::size_t variants = item.variants.size();
  State state{index, item, std::vector<std::uint64_t>(variants, item.min_iterations), {}};
  state.result.skipped.assign(variants, false);

  director_.prepare(index);
  for (std::size_t i = 0; i < variants; ++i) {
    while (lengthen(state, i, batch(state, i).took_ms)) continue;
  }
  const auto wanted = static_cast<std::size_t>(options_.runs);
  std::vector<Round> rounds;
  while (!enough_rounds(rounds, wanted, options_.near, options_.smoke)) {
    if (!item.virtual_time) (void)await_near();
    rounds.push_back(run_round(state));
  }
  director_.finish(index);

  state.result.selection = select_rounds(rounds, wanted, options_.near);
  if (options_.smoke) state.result.selection.near = false;  // too short to be told
  return state.result;
}

bool Runner::lengthen(State& state, std::size_t variant, double took_ms) {
  if (state.result.skipped[variant] || took_ms >= options_.batch_ms / 2) return false;
  std::uint64_t& iterations = state.iterations[variant];
  const std::uint64_t next =
      scale_iterations(iterations, took_ms, options_.batch_ms, state.item.max_iterations);
  if (next <= iterations) return false;
  iterations = next;
  return true;
}

Round Runner::run_round(State& state) {
  Round round;
  round.canaries.push_back(canary(state.item));
  for (std::size_t i = 0; i < state.item.variants.size(); ++i) {
    Outcome outcome = batch(state, i);
    while (lengthen(state, i, outcome.took_ms)) {
      round.canaries.back() = canary(state.item);
      outcome = batch(state, i);
    }
    round.figures.push_back(outcome.figure);
    if (!state.item.oversubscribed && !state.item.virtual_time) {
      round.waited = std::max(round.waited, outcome.waited);
    }
    round.canaries.push_back(canary(state.item));
  }
  return round;
}

Outcome Runner::batch(State& state, std::size_t variant) {
  const Outcome nothing{std::numeric_limits<double>::quiet_NaN(), 0, 0};
  if (state.result.skipped[variant]) return nothing;
  try {
    const Outcome outcome = director_.batch(state.index, variant, state.iterations[variant]);
    if (is_sound(outcome.figure)) return outcome;
    throw std::runtime_error(fmt::format("{} is not a possible figure", outcome.figure));
  } catch (const Skip& skip) {
    state.result.skipped[variant] = true;
    state.result.notes.push_back(fmt::format("{}, {}: {}", case_id(state.item),
                                             state.item.variants[variant].name, skip.what()));
  }
  return nothing;
}

Canary Runner::canary(const Case& item) {
  return item.virtual_time ? Canary{} : director_.canary();
}

bool Runner::await_near() {
  constexpr std::chrono::milliseconds kPause{100};
  while (patience_s_ > 0) {
    const double begin = now_ns();
    if (is_near(director_.canary(), options_.near)) return true;
    std::this_thread::sleep_for(kPause);
    patience_s_ -= (now_ns() - begin) / 1e9;
  }
  return false;
}

}  // namespace bench
