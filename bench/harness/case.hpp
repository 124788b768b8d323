// SPDX-License-Identifier: MIT
// What a bench measures: a case, its variants, and the ratios and bars between them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "bench/harness/batch.hpp"

namespace bench {

enum class Unit { kNanoseconds, kPerSecond, kBytesPerSecond, kBytes, kRatio };

/// As it stands in the JSON report: "ns", "1/s", "B/s", "B", "ratio".
const char* to_string(Unit unit) noexcept;

/// One way to do the job of a case. `measure` runs in process 0 and returns a figure in the case's
/// unit (finite and above zero, or the bench fails). `assist` runs at the same time in all other
/// processes; empty when they have nothing to do: they then sleep and leave their core alone.
struct Variant {
  std::string name;
  std::function<double(Batch&)> measure;
  std::function<void(Batch&)> assist = {};
  std::string bar = {};  // optional, on the median: ">= 0.97" or "<= 35"
};

/// Names a yardstick that the harness itself measures: half of the cache-line round trip, in ns,
/// the mean of the measurements just before and just after the batch that it is compared with.
inline constexpr const char* kHalfRoundTrip = "half_round_trip";

/// The figure of variant `over` divided by that of variant `under` (or of kHalfRoundTrip, when the
/// unit is ns) from the same round; the report has the median, min and max of these quotients.
struct Ratio {
  std::string over;
  std::string under;
  std::string bar = {};
  /// The same for cores that are far from each other (--far).
  std::string far_bar = {};
};

/// A case is measured in rounds. A round runs one batch of each variant in the order given, so two
/// variants run as A B A B ... In the report a lone variant and a lone ratio carry the case's name;
/// of several, variants are "case/variant" and ratios "case/over:under". A lone variant with a
/// ratio is "case/variant", so that the case's name is the ratio.
struct Case {
  std::string name;
  std::uint64_t size = 0;  // payload in bytes, or the parameter that the name says
  Unit unit = Unit::kNanoseconds;
  std::vector<Variant> variants = {};
  std::vector<Ratio> ratios = {};

  /// Run in every process before the first and after the last batch of the case.
  std::function<void(Channel&)> prepare = {};
  std::function<void(Channel&)> finish = {};

  /// The case runs more threads than there are cores: waiting for a core is part of it, and does
  /// not make its rounds far.
  bool oversubscribed = false;
  /// The figures are of a simulation: the mood of the machine does not matter to them, and nobody
  /// asks for it.
  bool virtual_time = false;

  /// Bounds for Batch::iterations(). Set both to 1 for a variant that counts for itself.
  std::uint64_t min_iterations = 1;
  std::uint64_t max_iterations = std::numeric_limits<std::uint64_t>::max();
};

/// "name/size": what --list prints and --filter searches.
std::string case_id(const Case& item);

/// Throws std::invalid_argument that says what is wrong: no variant, a name used twice, a ratio of
/// unknown variants, a bar that cannot be read.
void check_case(const Case& item);

}  // namespace bench
