// SPDX-License-Identifier: MIT
// FuturePool: states that wait for their results without a future.
#include "dsfabric/detail/future_pool.hpp"

#include <bit>
#include <exception>
#include <utility>

#include "dsfabric/call_context.hpp"
#include "dsfabric/detail/inside.hpp"
#include "dsfabric/fabric.hpp"
#include "dtutils/detail/scope_exit.hpp"
#include "threads/thread_registry.hpp"

namespace dsfabric::detail {

FuturePool& FuturePool::of(Fabric& fabric) {
  ThreadContext& context = Inside::threads(fabric).mine();
  if (!context.futures)
    context.futures = std::make_unique<FuturePool>(fabric, context.continuations);
  return *context.futures;
}

FuturePool::~FuturePool() {
  for (FutureState* const state : watched_) {
    if (state->run != nullptr) state->drop(*state);
  }
}

FutureState& FuturePool::make(std::uint32_t size_class) {
  sweep();
  if (FutureState* const state = free_[size_class]; state != nullptr) {
    free_[size_class] = state->next;
    return *state;
  }
  // By doubling; watch() has room for all states and does not throw.
  watched_.reserve(std::bit_ceil(states_.size() + 1));
  return states_.emplace_back(*this, fabric_, size_class, std::uint32_t{8} << size_class);
}

void FuturePool::watch(FutureState& state) noexcept {
  if (std::exchange(state.watched, true)) return;
  watched_.push_back(&state);
}

FutureState& FuturePool::unwatch(std::size_t index) noexcept {
  FutureState& state = *watched_[index];
  watched_[index] = watched_.back();
  watched_.pop_back();
  state.watched = false;
  return state;
}

void FuturePool::attach(FutureState& state, void (*run)(FutureState&),
                        void (*drop)(FutureState&) noexcept) noexcept {
  state.run = run;
  state.drop = drop;
  ThreadRegistry::count(counters_.attached);
  watch(state);
}

void FuturePool::abandon_pending(FutureState& state) noexcept {
  if (std::exchange(state.run, nullptr) != nullptr) {
    state.drop(state);
    ThreadRegistry::count(counters_.ended);
  }
  watch(state);
}

void FuturePool::sweep() noexcept {
  for (std::size_t i = 0; i < watched_.size();) {
    if (watched_[i]->run == nullptr && watched_[i]->done()) {
      give_back(unwatch(i));
    } else {
      ++i;
    }
  }
}

bool FuturePool::progress() {
  bool busy = false;
  for (std::size_t looks = std::min(kLooks, watched_.size()); looks > 0; --looks) {
    if (watched_.empty()) break;
    if (next_ >= watched_.size()) next_ = 0;
    if (!watched_[next_]->done()) {
      ++next_;
      continue;
    }
    busy = true;
    FutureState& state = unwatch(next_);
    const auto run = std::exchange(state.run, nullptr);
    if (run == nullptr) {
      give_back(state);
      continue;
    }
    // After the continuation, so that the calls which it makes are counted before it.
    const dtutils::detail::ScopeExit ended(
        [&]() noexcept { ThreadRegistry::count(counters_.ended); });
    try {
      run(state);
    } catch (...) {
      const ThreadContext& context = Inside::threads(fabric_).mine();
      CallContext here{fabric_, context.name, context.worker};
      fabric_.report_exception(here, std::current_exception());
    }
  }
  return busy;
}

}  // namespace dsfabric::detail
