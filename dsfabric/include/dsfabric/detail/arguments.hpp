// SPDX-License-Identifier: MIT
// Callables with arguments: what travels for them, and how they are called at the destination.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dsfabric/callable.hpp"
#include "dsfabric/detail/call_wrappers.hpp"
#include "dsfabric/travels.hpp"

namespace dsfabric::detail {

template <class A>
struct ArgumentOf {
  using Type = A;
};
template <std::size_t kSize>
struct ArgumentOf<char[kSize]> {
  using Type = std::string;
};
template <>
struct ArgumentOf<std::string_view> {
  using Type = std::string;
};
/// As what a given argument arrives: itself, or a std::string for a literal or a view.
template <class A>
using Argument = typename ArgumentOf<std::remove_cv_t<A>>::Type;

/// Those that always take the same number of bytes travel as a capture would.
template <class A>
inline constexpr bool kPlainArgument = PlainData<Argument<A>>;

/// Whether the arguments travel like captures: where they fit into one record's callable.
template <class F, class... A>
inline constexpr bool kAsCaptures =
    (kPlainArgument<A> && ...) && sizeof(F) + (sizeof(A) + ...) <= kMaxCallable / 2;

template <class A>
void pack_argument(Packer& out, const A& argument) {
  if constexpr (std::is_array_v<A>) {
    // A literal, or a buffer that holds a string.
    const char* const end = std::find(argument, argument + std::extent_v<A>, '\0');
    Travels<std::string>::pack(out, std::string_view(argument, end));
  } else {
    Travels<Argument<A>>::pack(out, argument);
  }
}

/// Throws the Error of a call with so many bytes behind its callable, more than any record carries.
[[noreturn]] void refuse_record(std::size_t extra);

/// Bytes of a callable and of what travels with it: a buffer, or arguments that were packed. Throws
/// Error when they are more than any record carries.
inline std::uint32_t record_bytes(std::size_t callable, std::size_t extra) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max() / 2;
  if (extra > kMost - callable) [[unlikely]]
    refuse_record(extra);
  return static_cast<std::uint32_t>(callable + extra);
}

template <class F, class... A>
inline constexpr bool kTakesCall = std::is_invocable_v<F&, CallContext&, A...>;

/// Calls it with values that were unpacked.
template <class F, class... A>
decltype(auto) apply_now(F& function, CallContext& call, std::tuple<A...>& values) {
  return std::apply(
      [&](A&... each) -> decltype(auto) {
        if constexpr (kTakesCall<F, A...>) {
          return function(call, std::move(each)...);
        } else {
          return function(std::move(each)...);
        }
      },
      values);
}

/// Keeps the arguments of a coroutine until it has ended (task.hpp).
template <class R, class F, class... A>
R await_with(F& function, CallContext& call, std::tuple<A...> values);

template <class F, class... A>
decltype(auto) apply_arguments(F& function, CallContext& call, std::tuple<A...>&& values) {
  using R = decltype(apply_now(function, call, values));
  if constexpr (TaskResult<R>) {
    return await_with<R, F, A...>(function, call, std::move(values));
  } else {
    return apply_now(function, call, values);
  }
}
template <class F, class... A>
using ResultWith = decltype(apply_arguments(std::declval<F&>(), std::declval<CallContext&>(),
                                            std::declval<std::tuple<A...>>()));

/// One assertion a reason, as check_callable.
template <class F, class... A>
constexpr void check_arguments() {
  check_captures<F>();
  static_assert(!(kNamesMemory<Argument<A>> || ...),
                "cariama: a pointer, std::span or std::reference_wrapper as an argument of a "
                "remote call names memory of this process. Pass the value, a std::string or "
                "std::vector of it, or use GlobalPtr.");
  static_assert((kNamesMemory<Argument<A>> || ...) || (Travelling<Argument<A>> && ...),
                "cariama: an argument of a remote call cannot travel. Plain data, std::string, "
                "std::vector, std::optional, std::array, std::pair and std::tuple of what travels "
                "can; for a type of your own specialize dsfabric::Travels<T>.");
  static_assert(std::is_invocable_v<F&, Argument<A>...> || kTakesCall<F, Argument<A>...>,
                "cariama: a remote callable with arguments is called as f(a, b, ...) or "
                "f(CallContext&, a, b, ...), and takes them by value or const reference.");
}

/// Empty when the bytes are invalid: then the process that sent them is failed.
template <class... A>
std::optional<std::tuple<A...>> unpack_arguments(CallContext& call,
                                                 std::span<const std::byte> bytes) {
  const char* why = "bytes are left behind the last one";
  try {
    Unpacker in(bytes);
    // Braces: from left to right.
    std::optional<std::tuple<A...>> values(std::tuple<A...>{in.value<A>()...});
    if (in.left() == 0) return values;
  } catch (const CorruptBytes& corrupt) {
    why = corrupt.what();
  }
  call.fabric.fail(call.source.process,
                   std::string("the arguments of its call are invalid: ") + why);
  return std::nullopt;
}

/// A call whose arguments are plain data: one more callable.
template <class F, class... A>
struct WithPlainArguments : WrapperName<F, 'v', A...> {
  WithPlainArguments(const F& f, const A&... arguments) noexcept : function(f) {
    Packer out(packed.data());
    (pack_argument(out, arguments), ...);
  }
  [[no_unique_address]] F function;
  std::array<std::byte, (sizeof(A) + ...)> packed;

  decltype(auto) operator()(CallContext& call) {
    Unpacker in(packed);
    return apply_arguments(function, call, std::tuple<A...>{in.value<A>()...});
  }
};

/// A coroutine with its arguments, for as long as it runs.
template <class F, class... A>
struct Applied {
  F function;
  std::tuple<A...> values;
  decltype(auto) operator()(CallContext& call) { return apply_now(function, call, values); }
};

/// A call whose arguments lie behind it in the record.
template <class F, class... A>
struct WithArguments : WrapperName<F, 'p', A...> {
  explicit WithArguments(const F& f) noexcept : function(f) {}
  // A callable that captures nothing has no byte, so that none is sent that nobody wrote.
  [[no_unique_address]] F function;

  void operator()(CallContext& call, std::byte* packed, std::uint32_t bytes) {
    auto values = unpack_arguments<A...>(call, {packed, bytes});
    if (!values) return;
    if constexpr (TaskResult<ResultWith<F, A...>>) {
      start_task(Applied<F, A...>{function, std::move(*values)}, call);
    } else {
      apply_arguments(function, call, std::move(*values));
    }
  }
};

/// The same for a result.
template <class F, class... A>
struct ReturningWithArguments : WrapperName<F, 'q', AtHome<ResultWith<F, A...>>, A...> {
  ReturningWithArguments(const F& f, const ReturnAddress& to) noexcept : function(f), home(to) {}
  [[no_unique_address]] F function;
  ReturnAddress home;

  void operator()(CallContext& call, std::byte* packed, std::uint32_t bytes) {
    using R = ResultWith<F, A...>;
    const auto unpack = [&] {
      auto values = unpack_arguments<A...>(call, {packed, bytes});
      // Whoever sent them is failed, so nobody reads this.
      if (!values) throw CorruptBytes();
      return std::move(*values);
    };
    if constexpr (TaskResult<R>) {
      try {
        return_task(Applied<F, A...>{function, unpack()}, call, home);
      } catch (...) {
        send_current_exception<AtHome<R>>(call, home);
      }
    } else {
      run_and_return(call, home,
                     [&]() -> decltype(auto) { return apply_arguments(function, call, unpack()); });
    }
  }
};

}  // namespace dsfabric::detail
