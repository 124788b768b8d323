// SPDX-License-Identifier: MIT
// The report of a bench: its rows, as a table for people and as JSON for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/harness/round.hpp"
#include "bench/harness/stats.hpp"

namespace bench {

/// kNotJudged: bars hold for near batches, or for far ones, and these were not, or of a smoke run.
enum class Verdict { kNoBar, kMet, kMissed, kNotJudged };

struct Row {
  std::string name;
  std::uint64_t size = 0;
  Unit unit = Unit::kRatio;
  Summary summary;
  bool near = false;
  bool far = false;
  double round_trip_ns = 0;  // median around the batches of the row
  double core_speed = 1;     // lowest beside them, of the best that was seen
  double waited = 0;         // largest share of a batch for which a process waited for its core
  std::string bar;
  Verdict verdict = Verdict::kNoBar;
};

struct Report {
  std::vector<Row> rows;
  std::vector<std::string> notes;  // why something was left out
};

/// The rows of one case, variants first, then ratios. `skipped[i]` is true for a variant that did
/// not run; it has no row, nor has a ratio with it. Names are as case.hpp says. `far`: the rounds
/// were to be far, and the bars for far cores count.
std::vector<Row> make_rows(const Case& item, const Selection& selection,
                           const std::vector<bool>& skipped, bool far = false);

/// "51.3 ns", "104 M/s", "12.4 GB/s", "0.981".
std::string format_figure(double figure, Unit unit);

/// One line a row, aligned, with a head line.
std::string format_table(const std::vector<Row>& rows);

/// An array of {"case","size","unit","median","min","max","runs","near","far"}.
std::string format_json(const std::vector<Row>& rows);

}  // namespace bench
