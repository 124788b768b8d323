// SPDX-License-Identifier: MIT
// Predicates with their triggers: evaluated without a lock, an allocation or a virtual call.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>

#include "dtutils/detail/scope_exit.hpp"
#include "sst/detail/predicate_slot.hpp"
#include "sst/predicate_kind.hpp"
#include "sst/table_limits.hpp"

namespace sst {

/// The predicates of one `Target`: something that is passed to them as `const Target&`, and to
/// triggers as `Target&`. They are evaluated in the order in which they were added, and the
/// triggers of one run in their order. One thread at a time evaluates.
///
/// A run of predicates of the same type costs one indirect call (predicate_slot.hpp). Adding and
/// removing goes by a list of requests, which the next evaluation takes over; so adding allocates,
/// but evaluating does not, and never waits for threads that add.
template <class Target>
class Predicates {
 public:
  Predicates() : slots_(new Slot[kFirstPredicates]), capacity_(kFirstPredicates) {}
  Predicates(const Predicates&) = delete;
  Predicates& operator=(const Predicates&) = delete;
  ~Predicates() {
    take_requests();
    for (std::size_t i = 0; i < count_; ++i) delete slots_[i].record;
  }

  /// Evaluated from the next evaluation on. Any thread, lock-free; allocates.
  template <class Predicate, class... Triggers>
  PredicateId add(PredicateKind kind, Predicate predicate, Triggers... triggers);
  /// Its triggers do not run any more: from now on if this is called from a trigger, else from some
  /// moment before the end of the next evaluation on. Nothing if it is gone. As add.
  void remove(PredicateId id);

  /// Evaluates each predicate once and runs the triggers of those that ask for it. True when a
  /// trigger ran. Inside a trigger it does nothing. Throws what predicates and triggers throw; the
  /// rest is then not evaluated.
  bool evaluate(Target& target) {
    if (firing_.load(std::memory_order_relaxed) != std::thread::id()) [[unlikely]] {
      return false;
    }
    // Acquire: pairs with request().
    if (requests_.load(std::memory_order_acquire) != nullptr) [[unlikely]] {
      take_requests();
    }
    fired_ = false;
    Slot* slot = slots_.get();
    Slot* const end = slot + count_;
    while (slot != end) slot = slot->run(slot, end, *this, target);
    if (removed_ != 0) [[unlikely]] {
      compact();
    }
    return fired_;
  }

  /// Predicates that will be evaluated next, as of the last evaluation. The evaluating thread.
  std::size_t size() const noexcept { return count_; }

 private:
  using Slot = detail::PredicateSlot<Target>;
  static_assert(sizeof(Slot) == kLine);
  /// To add `slot` (with room for more slots, if there may be too few), or to remove `id`.
  struct Request {
    Slot slot{};
    std::uint64_t id = 0;
    std::unique_ptr<Slot[]> room;
    std::size_t room_size = 0;
    Request* next = nullptr;
  };

  template <class Inline>
  static Slot* run_alike(Slot* slot, Slot* end, Predicates& self, Target& target) {
    do {
      auto& predicate = *std::launder(reinterpret_cast<Inline*>(slot->captures));
      const bool holds = static_cast<bool>(predicate(std::as_const(target)));
      if (holds | slot->was) [[unlikely]] {
        self.run_triggers(*slot, holds, target);
      }
      ++slot;
    } while (slot != end && slot->run == &run_alike<Inline>);
    return slot;
  }
  static Slot* pass_removed(Slot* slot, Slot*, Predicates&, Target&) { return slot + 1; }

  /// The part of add that all types of predicates share. Owns `slot.watch`.
  PredicateId add_slot(const Slot& slot);
  void run_triggers(Slot& slot, bool holds, Target& target);
  void take_out(Slot& slot) noexcept {
    slot.run = &pass_removed;
    ++removed_;
  }
  void request(Request* request) noexcept;
  void take_requests();
  void find_and_take_out(std::uint64_t id) noexcept;
  void compact() noexcept;

  std::unique_ptr<Slot[]> slots_;
  std::size_t count_ = 0;
  std::size_t capacity_;
  std::size_t removed_ = 0;
  bool fired_ = false;
  /// The thread that runs a trigger now; none: a default id.
  std::atomic<std::thread::id> firing_{};

  // Touched by those who add and remove.
  alignas(kLine) std::atomic<Request*> requests_{nullptr};
  std::atomic<std::uint64_t> last_id_{0};
  /// Predicates that were added and not removed, those in requests included.
  std::atomic<std::size_t> expected_{0};
  /// Predicates for which there is room, or a request that brings room.
  std::atomic<std::size_t> promised_{kFirstPredicates};
};

template <class Target>
template <class Predicate, class... Triggers>
PredicateId Predicates<Target>::add(PredicateKind kind, Predicate predicate, Triggers... triggers) {
  static_assert(std::is_invocable_r_v<bool, Predicate&, const Target&>,
                "cariama: a predicate is called with a const Table<Row>&, and returns bool");
  static_assert((std::is_invocable_v<Triggers&, Target&> && ...),
                "cariama: a trigger is called with a Table<Row>&");
  auto* const record = new detail::PredicateRecordOf<Target, Predicate, Triggers...>(
      kind, std::move(predicate), std::move(triggers)...);
  Slot slot{};
  slot.record = record;
  if constexpr (detail::kFitsSlot<Predicate>) {
    slot.run = &run_alike<Predicate>;
    new (slot.captures) Predicate(record->predicate);
  } else {
    using Elsewhere = detail::Elsewhere<Target, Predicate>;
    slot.run = &run_alike<Elsewhere>;
    new (slot.captures) Elsewhere{&record->predicate};
  }
  return add_slot(slot);
}

template <class Target>
PredicateId Predicates<Target>::add_slot(const Slot& slot) {
  std::unique_ptr<detail::PredicateRecord<Target>> record(slot.record);
  auto request = std::make_unique<Request>();
  // Relaxed, all: request() orders what is read by the evaluating thread.
  const std::size_t expected = expected_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (expected > promised_.load(std::memory_order_relaxed)) {
    request->room_size = std::bit_ceil(expected);
    request->room.reset(new Slot[request->room_size]);
  }
  const PredicateId id{last_id_.fetch_add(1, std::memory_order_relaxed) + 1};
  record->id = id.value;
  request->slot = slot;
  const std::size_t room = request->room_size;
  record.release();
  this->request(request.release());
  // Only now: who relies on the promise makes a request behind this one.
  for (std::size_t seen = promised_.load(); seen < room;) {
    if (promised_.compare_exchange_weak(seen, room)) break;
  }
  return id;
}

template <class Target>
void Predicates<Target>::remove(PredicateId id) {
  if (firing_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
    find_and_take_out(id.value);
  }
  // Also then: it may not have been taken over yet.
  auto request = std::make_unique<Request>();
  request->id = id.value;
  this->request(request.release());
}

template <class Target>
void Predicates<Target>::run_triggers(Slot& slot, bool holds, Target& target) {
  const PredicateKind kind = slot.record->kind;
  if (kind == PredicateKind::kTransition) {
    const bool was = std::exchange(slot.was, holds);
    if (!holds || was) return;
  } else if (kind == PredicateKind::kOnce) {
    take_out(slot);
  }
  firing_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  const dtutils::detail::ScopeExit fired(
      [&]() noexcept { firing_.store(std::thread::id(), std::memory_order_relaxed); });
  fired_ = true;
  slot.record->fire(*slot.record, target);
}

template <class Target>
void Predicates<Target>::request(Request* request) noexcept {
  request->next = requests_.load(std::memory_order_relaxed);
  // Release: pairs with the acquire in evaluate.
  while (!requests_.compare_exchange_weak(request->next, request, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
}

template <class Target>
void Predicates<Target>::take_requests() {
  Request* newest = requests_.exchange(nullptr, std::memory_order_acquire);
  Request* oldest = nullptr;
  while (newest != nullptr) {
    Request* const next = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, next);
  }
  while (oldest != nullptr) {
    const std::unique_ptr<Request> request(std::exchange(oldest, oldest->next));
    if (request->room_size > capacity_) {
      std::copy(slots_.get(), slots_.get() + count_, request->room.get());
      slots_.swap(request->room);
      capacity_ = request->room_size;
    }
    if (request->slot.record != nullptr) {
      slots_[count_++] = request->slot;
    } else {
      find_and_take_out(request->id);
    }
  }
}

template <class Target>
void Predicates<Target>::find_and_take_out(std::uint64_t id) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (slots_[i].record->id == id && slots_[i].run != &pass_removed) take_out(slots_[i]);
  }
}

template <class Target>
void Predicates<Target>::compact() noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (slots_[i].run == &pass_removed) {
      delete slots_[i].record;
    } else {
      slots_[kept++] = slots_[i];
    }
  }
  expected_.fetch_sub(removed_, std::memory_order_relaxed);
  count_ = kept;
  removed_ = 0;
}

}  // namespace sst
