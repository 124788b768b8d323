// SPDX-License-Identifier: MIT
// When the triggers of a predicate run, and the name of a predicate that was added.
#pragma once

#include <cstdint>

namespace sst {

/// Names a predicate that was added, for its removal.
struct PredicateId {
  /// From 1; 0 names none.
  std::uint64_t value = 0;
  friend bool operator==(const PredicateId&, const PredicateId&) = default;
};

/// When a predicate's triggers run (the paper's section 4.3).
enum class PredicateKind : std::uint8_t {
  /// Each time it is evaluated and true.
  kRecurrent,
  /// The first time; then it is gone.
  kOnce,
  /// When it is true and was false at the evaluation before (at first: as if it had been false).
  kTransition,
};

}  // namespace sst
