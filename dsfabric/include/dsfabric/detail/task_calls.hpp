// SPDX-License-Identifier: MIT
// Calls whose function is a coroutine: they end when it has ended.
#pragma once

#include <coroutine>
#include <cstring>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dsfabric/detail/arguments.hpp"
#include "dsfabric/detail/call_wrappers.hpp"
#include "dsfabric/detail/frame_pool.hpp"
#include "dsfabric/fabric.hpp"

namespace dsfabric::detail {

// Frames hold callables of the user, whose types mostly have no name outside of their source: right
// here, and g++ warns of it when that source is included in another one, as in a unity build.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

/// A coroutine that nobody awaits: it begins at once, and its frame goes when it has ended.
struct Detached {
  struct promise_type : PooledFrame {
    static Detached get_return_object() noexcept { return {}; }
    static std::suspend_never initial_suspend() noexcept { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    static void return_void() noexcept {}
    /// Never called: those below catch everything.
    static void unhandled_exception() noexcept { std::terminate(); }
  };
};

/// The callable and its context are kept in the frame.
template <class F>
Detached run_detached(F function, CallContext call) {
  try {
    co_await run_callable(function, call);
  } catch (...) {
    report_in_coroutine(call, std::current_exception());
  }
}

template <class F>
Detached return_detached(F function, CallContext call, ReturnAddress home) {
  using T = typename std::remove_cvref_t<CallResult<F>>::Value;
  try {
    if constexpr (std::is_void_v<T>) {
      co_await run_callable(function, call);
      return_nothing(call, home);
    } else {
      const T value = co_await run_callable(function, call);
      return_any(call, home, value);
    }
  } catch (...) {
    send_current_exception<T>(call, home);
  }
}

template <class F>
void start_task(F function, CallContext& call) {
  run_detached(std::move(function), call);
  throw_reported();
}

template <class F>
void return_task(F function, CallContext& call, const ReturnAddress& home) {
  return_detached(std::move(function), call, home);
}

/// Keeps the arguments of a coroutine until it has ended.
template <class R, class F, class... A>
R await_with(F& function, CallContext& call, std::tuple<A...> values) {
  co_return co_await apply_now<F, A...>(function, call, values);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace dsfabric::detail
