// SPDX-License-Identifier: MIT
// in_fiber() and run_inline(): callables that choose where their calls run at the destination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "dsfabric/call_context.hpp"
#include "dsfabric/callable.hpp"
#include "riutils/fiber_pool.hpp"

namespace riutils {

namespace detail {

/// Leaves a call where progress() runs it.
struct NoPlacement {
  static constexpr char kMark = 'i';
  static constexpr bool kNeedsPlace = false;
  static void place(dsfabric::Invoke run, std::byte* payload, std::uint32_t bytes,
                    dsfabric::CallContext& call) {
    run(payload, bytes, call);
  }
  static void check() noexcept {}
};

/// Brings a call into a fiber of the thread that it came to. When there is no fiber, the call runs
/// nevertheless and check() throws, so that the caller who waits for its end gets an Error.
struct FiberPlacement {
  static constexpr char kMark = 'f';
  static constexpr bool kNeedsPlace = true;
  static void place(dsfabric::Invoke run, std::byte* payload, std::uint32_t bytes,
                    dsfabric::CallContext& call) {
    FiberPool::run_here(run, payload, bytes, call);
  }
  static void check() {
    if (!FiberPool::inside()) [[unlikely]]
      FiberPool::throw_no_fiber();
  }
};

template <class F, class Where>
struct Placed : dsfabric::detail::WrapperName<F, Where::kMark> {
  using Placement = Where;

  explicit Placed(const F& f) noexcept : function(f) {}
  [[no_unique_address]] F function;

  decltype(auto) operator()()
  requires std::is_invocable_v<F&>
  {
    Where::check();
    return function();
  }
  decltype(auto) operator()(dsfabric::CallContext& call)
  requires std::is_invocable_v<F&, dsfabric::CallContext&>
  {
    Where::check();
    return function(call);
  }
  /// With arguments.
  template <class... A>
  requires(sizeof...(A) != 0 && std::is_invocable_v<F&, A...>)
  decltype(auto) operator()(A&&... arguments) {
    Where::check();
    return function(std::forward<A>(arguments)...);
  }
  void operator()(dsfabric::CallContext& call, std::byte* buffer, std::uint32_t bytes)
  requires std::is_invocable_v<F&, dsfabric::CallContext&, std::byte*, std::uint32_t>
  {
    Where::check();
    function(call, buffer, bytes);
  }
};

}  // namespace detail

/// A callable that may wait: each of its calls runs as a fiber of the destination's FiberPool, over
/// any channel and in every kind of call:
///
///     messenger.call_return(next, riutils::in_fiber([there](CallContext& call) {
///       ReturnSlot<int> slot(call.fabric);
///       ...                       // asks a third thread
///       return slot.get() + 1;    // waits; `next` goes on serving meanwhile
///     }), slot);
///
/// The record is copied onto the fiber's stack, at most a quarter of it. When the destination has
/// no FiberPool, or no stack is free, the call ends with an Error: the caller of call_return gets
/// it, otherwise Fabric::on_exception there. A service thread has no FiberPool. A worker that has
/// neither a pool nor a channel over rings may be about to make them: calls through rings wait.
template <class F>
detail::Placed<F, detail::FiberPlacement> in_fiber(const F& function) noexcept {
  dsfabric::detail::check_captures<F>();
  return detail::Placed<F, detail::FiberPlacement>(function);
}

/// A callable that does not wait, and runs inline also where calls run in fibers by default
/// (RingSet::run_in_fibers).
template <class F>
detail::Placed<F, detail::NoPlacement> run_inline(const F& function) noexcept {
  dsfabric::detail::check_captures<F>();
  return detail::Placed<F, detail::NoPlacement>(function);
}

}  // namespace riutils
