// SPDX-License-Identifier: MIT
// One predicate: the cache line that is evaluated, and its kind and triggers elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sst/predicate_kind.hpp"
#include "sst/table_limits.hpp"

namespace sst {
template <class Target>
class Predicates;
}  // namespace sst

namespace sst::detail {

/// The cold half of a predicate.
template <class Target>
struct PredicateRecord {
  PredicateRecord(PredicateKind its_kind, void (*its_fire)(PredicateRecord&, Target&)) noexcept
      : fire(its_fire), kind(its_kind) {}
  PredicateRecord(const PredicateRecord&) = delete;
  PredicateRecord& operator=(const PredicateRecord&) = delete;
  virtual ~PredicateRecord() = default;
  void (*fire)(PredicateRecord&, Target&);
  std::uint64_t id = 0;
  PredicateKind kind;
};

/// The hot half, in one cache line: code and captures. Slots are copied as bytes.
template <class Target>
struct alignas(kLine) PredicateSlot {
  /// Evaluates this slot and those after it that have the same code; the first one that has not.
  using Run = PredicateSlot* (*)(PredicateSlot* slot, PredicateSlot* end, Predicates<Target>& self,
                                 Target& target);
  Run run;
  PredicateRecord<Target>* record;
  /// It was true at the last evaluation; for kTransition only.
  bool was;
  alignas(8) std::byte captures[kInlineCaptures];
};

template <class Target, class Predicate, class... Triggers>
struct PredicateRecordOf final : PredicateRecord<Target> {
  PredicateRecordOf(PredicateKind its_kind, Predicate&& its_predicate, Triggers&&... its_triggers)
      : PredicateRecord<Target>(its_kind, &PredicateRecordOf::fire_all),
        predicate(std::move(its_predicate)),
        triggers(std::move(its_triggers)...) {}
  static void fire_all(PredicateRecord<Target>& record, Target& target) {
    std::apply([&](auto&... each) { (each(target), ...); },
               static_cast<PredicateRecordOf&>(record).triggers);
  }
  Predicate predicate;
  std::tuple<Triggers...> triggers;
};

/// Whether a predicate lies in its slot. Elsewhere stands there for one that is too large or too
/// complicated.
template <class Predicate>
inline constexpr bool kFitsSlot = sizeof(Predicate) <= kInlineCaptures && alignof(Predicate) <= 8 &&
                                  std::is_trivially_copyable_v<Predicate>;
template <class Target, class Predicate>
struct Elsewhere {
  Predicate* predicate;
  bool operator()(const Target& target) { return (*predicate)(target); }
};

}  // namespace sst::detail
