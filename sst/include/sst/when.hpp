// SPDX-License-Identifier: MIT
// How predicates and triggers are written down.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "sst/predicate_kind.hpp"
#include "sst/predicates.hpp"

namespace sst {

/// A predicate that has no triggers yet. `[[nodiscard]]`: without one it does nothing.
template <class Target, class Predicate>
class [[nodiscard]] When {
 public:
  /// For Table::when.
  When(Predicates<Target>& predicates, Predicate predicate)
      : predicates_(predicates), predicate_(std::move(predicate)) {}

  /// The triggers run in their order: each time it is true,
  template <class... Triggers>
  PredicateId recurrent(Triggers... triggers) {
    return add(PredicateKind::kRecurrent, std::move(triggers)...);
  }
  /// the first time only,
  template <class... Triggers>
  PredicateId once(Triggers... triggers) {
    return add(PredicateKind::kOnce, std::move(triggers)...);
  }
  /// each time it turns from false to true.
  template <class... Triggers>
  PredicateId on_transition(Triggers... triggers) {
    return add(PredicateKind::kTransition, std::move(triggers)...);
  }

 private:
  template <class... Triggers>
  PredicateId add(PredicateKind kind, Triggers... triggers) {
    return predicates_.add(kind, std::move(predicate_), std::move(triggers)...);
  }

  Predicates<Target>& predicates_;
  Predicate predicate_;
};

/// A monotonic predicate (Derecho lecture, slides 18 and 19): `value(t)` only grows, as the minimum
/// of a column of counters does, and if it has reached v it has reached everything below. So a
/// trigger can be handed all that is new at once, `first` to `last`, and a slow trigger gets larger
/// ranges instead of falling behind (receive-side batching).
///
///     table.when_grows([](const auto& t) { return t.min(&Row::received); }, 0u)
///          .deliver([](auto& t, auto first, auto last) { ... first, first + 1, ..., last ... });
///
/// Every value above `handled` is in exactly one range, in order. A value that shrinks is as if it
/// had not.
template <class Target, class Expression, class V>
class [[nodiscard]] WhenGrows {
 public:
  /// For Table::when_grows.
  WhenGrows(Predicates<Target>& predicates, Expression value, V handled)
      : predicates_(predicates), state_{std::move(value), handled} {}

  /// Adds the predicate; `trigger(table, first, last)` gets each new range. Any thread; allocates.
  template <class Trigger>
  PredicateId deliver(Trigger trigger) {
    // Predicate and trigger share what was handled; both run on the evaluating thread.
    auto state = std::make_shared<State>(std::move(state_));
    State* const raw = state.get();
    return predicates_.add(
        PredicateKind::kRecurrent,
        [raw](const Target& target) {
          raw->reached = raw->value(target);
          return raw->handled < raw->reached;
        },
        [state = std::move(state), trigger = std::move(trigger)](Target& target) mutable {
          const V first = static_cast<V>(state->handled + 1);
          state->handled = state->reached;
          trigger(target, first, state->handled);
        });
  }

 private:
  struct State {
    Expression value;
    V handled;
    V reached{};
  };
  Predicates<Target>& predicates_;
  State state_;
};

}  // namespace sst
