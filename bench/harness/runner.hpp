// SPDX-License-Identifier: MIT
// Measures one case: how long its batches are, and the rounds in which they alternate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/harness/director.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/round.hpp"

namespace bench {

struct CaseResult {
  Selection selection;
  std::vector<bool> skipped;       // by variant
  std::vector<std::string> notes;  // why they were
};

/// The number of iterations to try after `iterations` took `took_ms`, so that a batch takes about
/// `want_ms`: at most a hundred times as many, never above `limit`, never fewer than one.
std::uint64_t scale_iterations(std::uint64_t iterations, double took_ms, double want_ms,
                               std::uint64_t limit) noexcept;

/// Owner thread only.
class Runner {
 public:
  Runner(Director& director, const Options& options) noexcept;

  /// Prepares the case, runs a batch of each variant to find the number of iterations and to warm
  /// up, runs rounds until enough_rounds(), finishes the case. Throws std::runtime_error when a
  /// figure is not sound; passes on what the case's functions throw, Skip excepted.
  CaseResult run(std::size_t index, const Case& item);
  /// Waits until the machine is as near, or as far, as is asked for; false when the patience for
  /// all such waits is used up.
  bool await_near();

 private:
  /// What run() works on: variants that are skipped have no iterations.
  struct State {
    std::size_t index;
    const Case& item;
    std::vector<std::uint64_t> iterations;
    CaseResult result;
  };

  /// Raises the variant's iterations after a batch of less than half the wanted length, and tells
  /// whether it did: the machine is quicker now than when they were found, or they are not yet.
  bool lengthen(State& state, std::size_t variant, double took_ms);
  Round run_round(State& state);
  Outcome batch(State& state, std::size_t variant);
  /// How the machine is; the best that it can be where that does not matter.
  Canary canary(const Case& item);

  Director& director_;
  const Options& options_;
  double patience_s_;
};

}  // namespace bench
