// SPDX-License-Identifier: MIT
// What may be called remotely: plain bytes that mean the same in another process.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

#include "dsfabric/detail/call_span.hpp"
#include "dsfabric/detail/function_table.hpp"
#include "dtutils/detail/scope_exit.hpp"

namespace dsfabric {

/// Bytes of a callable with its captures at most. A larger one belongs into a buffer.
inline constexpr std::size_t kMaxCallable = 2048;

namespace detail {

/// Pointers to functions and members, and what is one by another name. Where code and data lie
/// differs from process to process.
template <class F>
inline constexpr bool kIsAddress =
    std::is_pointer_v<F> || std::is_function_v<F> || std::is_member_pointer_v<F>;
template <class F>
inline constexpr bool kIsAddress<std::reference_wrapper<F>> = true;

}  // namespace detail

/// A callable whose bytes can be copied into another process and run there. Lambdas that capture by
/// value pass; `[&x]` does not, since a reference is an address of this process, and neither do
/// pointers to functions (`&f`, `+[] {}`) and std::ref(f): call f in a lambda, `[] { f(); }`.
///
/// A pointer inside a callable still passes, since it is plain bytes: one that a lambda captures,
/// `this` among them, a member of a struct, an argument or the function of std::bind where the
/// standard library makes that plain bytes. It means nothing elsewhere. Use GlobalPtr<T> (owner and
/// address), or a handle to "the same object over there" (global_ptr.hpp).
template <class F>
concept RemoteCallable =
    !detail::kIsAddress<F> && std::is_trivially_copyable_v<F> && std::is_standard_layout_v<F> &&
    sizeof(F) <= kMaxCallable && alignof(F) <= 8;

/// Gives a callable a name of the user's choice: `static constexpr std::string_view kCallName`
/// in its type. Programs of different binaries can then call each other by it.
template <class F>
concept NamedCallable = requires {
  { F::kCallName } -> std::convertible_to<std::string_view>;
};

/// What a coroutine returns whose call ends with it: a Task (task.hpp).
template <class R>
concept TaskResult = requires {
  typename R::promise_type;
  typename R::Value;
};

/// How a callable may be called: f(), f(CallContext&), or f(CallContext&, std::byte* buffer,
/// std::uint32_t bytes).
template <class F>
concept CallableRemotely = std::is_invocable_v<F&> || std::is_invocable_v<F&, CallContext&> ||
                           std::is_invocable_v<F&, CallContext&, std::byte*, std::uint32_t>;

/// A callable that chooses where its calls run, by a type member `Placement` with
///
///     static void place(Invoke run, std::byte* payload, std::uint32_t bytes, CallContext& call);
///
/// which calls `run(payload, bytes, call)`, or keeps copies of all three and does so later, on the
/// same thread; and by `static constexpr bool kNeedsPlace`, whether the thread must have prepared a
/// place for it. `payload` is the whole call: what the family of calls wraps around the callable
/// (the sending of a result, for example) runs there too. RIutils runs fibers this way.
template <class F>
concept PlacedCallable =
    requires { typename F::Placement; } && !std::is_void_v<typename F::Placement>;

namespace detail {

/// A wrapper runs where the callable inside it wants to; void: where progress() runs it.
template <class F>
struct PlacementOf {
  using Type = void;
};
template <PlacedCallable F>
struct PlacementOf<F> {
  using Type = typename F::Placement;
};

template <class F>
constexpr bool needs_place() noexcept {
  if constexpr (PlacedCallable<F>) {
    return F::Placement::kNeedsPlace;
  } else {
    return false;
  }
}

/// The name of a call that wraps one of name `inner`: "name/r", or with the types of its result and
/// arguments "name/q(i, d)".
std::string wrapper_name(std::string_view inner, char what,
                         std::initializer_list<const std::type_info*> types);
template <class F>
std::string_view name_of();

/// Gives a callable that wraps a named one a name too, which holds what must be the same in both
/// programs, and the placement of what it wraps.
template <class F, char kWhat, class... Types>
struct WrapperName {
  using Placement = typename PlacementOf<F>::Type;
};
template <NamedCallable F, char kWhat, class... Types>
struct WrapperName<F, kWhat, Types...> {
  using Placement = typename PlacementOf<F>::Type;
  /// Of what it wraps: the user's.
  static constexpr std::string_view kCallName = F::kCallName;
  /// Of this call.
  static std::string_view full_name() {
    static const std::string name = wrapper_name(name_of<F>(), kWhat, {&typeid(Types)...});
    return name;
  }
};

/// One assertion a reason, so that the compiler's first line says what to change.
template <class F>
constexpr void check_captures() {
  static_assert(!kIsAddress<F>,
                "cariama: a pointer to a function (&f, +[] {}, std::ref(f)) is an address of this "
                "process. Call the function in a lambda: [] { f(); }.");
  static_assert(kIsAddress<F> || std::is_trivially_copyable_v<F>,
                "cariama: a remote call may capture only plain data (trivially copyable): no "
                "std::string, std::vector, std::pair, std::function or smart pointer. Capture the "
                "values you need, or pass strings, vectors and pairs as arguments: call(to, f, a, "
                "b).");
  static_assert(!std::is_trivially_copyable_v<F> || std::is_standard_layout_v<F>,
                "cariama: a remote call must not capture by reference ([&] or [&x]): a reference "
                "is an address of this process. Capture by value ([=] or [x]), or use GlobalPtr.");
  static_assert(sizeof(F) <= kMaxCallable,
                "cariama: the captures of a remote call are too large (kMaxCallable). Pass the "
                "data with call_buffer.");
  static_assert(alignof(F) <= 8, "cariama: captures aligned to more than 8 bytes cannot travel.");
}

/// The same for a callable that is called without arguments of the user's.
template <class F>
constexpr void check_callable() {
  check_captures<F>();
  static_assert(
      CallableRemotely<F>,
      "cariama: a remote callable is called with nothing, or with (CallContext&), or with "
      "(CallContext&, std::byte* buffer, std::uint32_t bytes). Capture other values, or give them "
      "behind "
      "the callable: call(to, f, a, b).");
}

/// Begins a call of a coroutine, of which the callable and the context are kept (task.hpp).
template <class F>
void start_task(F function, CallContext& call);

template <class F>
void invoke_here(std::byte* payload, std::uint32_t bytes, CallContext& context) {
  F& function = *reinterpret_cast<F*>(payload);
  if constexpr (std::is_invocable_v<F&, CallContext&, std::byte*, std::uint32_t>) {
    function(context, payload + sizeof(F), bytes - static_cast<std::uint32_t>(sizeof(F)));
  } else if constexpr (std::is_invocable_v<F&, CallContext&>) {
    if constexpr (TaskResult<std::invoke_result_t<F&, CallContext&>>) {
      start_task<F>(function, context);
    } else {
      function(context);
    }
  } else if constexpr (TaskResult<std::invoke_result_t<F&>>) {
    start_task<F>(function, context);
  } else {
    function();
  }
}

template <class F>
struct Registration;

/// The same, for the trace of a simulation.
template <class F>
void show_here(std::byte* payload, std::uint32_t bytes, CallContext& context) {
  const CallSpan span(Registration<F>::slot, context);
  invoke_here<F>(payload, bytes, context);
}

template <class F, Invoke kHere = &invoke_here<F>>
void invoke(std::byte* payload, std::uint32_t bytes, CallContext& context) {
  if constexpr (PlacedCallable<F>) {
    F::Placement::place(kHere, payload, bytes, context);
  } else {
    kHere(payload, bytes, context);
  }
}

/// Bytes from one callable of a run to the next.
template <class F>
inline constexpr std::uint32_t kRunStride = (sizeof(F) + 7) / 8 * 8;

template <class F, Invoke kHere = &invoke_here<F>>
void invoke_run(std::byte* end, std::uint32_t count, CallContext& context, std::uint32_t& done) {
  // Told on the way out, so that the count stays in a register.
  std::uint32_t run = 0;
  const dtutils::detail::ScopeExit tell([&]() noexcept { done = run; });
  while (run < count) {
    ++run;
    end -= kRunStride<F>;
    invoke<F, kHere>(end, static_cast<std::uint32_t>(sizeof(F)), context);
  }
}

template <class F>
std::string_view name_of() {
  if constexpr (requires { F::full_name(); }) {
    return F::full_name();
  } else if constexpr (NamedCallable<F>) {
    return F::kCallName;
  } else {
    return typeid(F).name();
  }
}

template <class F>
struct Registration {
  static inline detail::FunctionSlot slot{
      name_of<F>(), NamedCallable<F>,
      detail::Invokers{&invoke<F>, &invoke_run<F>, &invoke<F, &show_here<F>>,
                       &invoke_run<F, &show_here<F>>, PlacedCallable<F>, needs_place<F>()},
      sizeof(F)};
};

}  // namespace detail

/// The index of a callable's type, a RemoteCallable; using it anywhere in the program is what
/// registers the type. Ask after FunctionTable::instance(). It has no constraint, so that what the
/// compiler says first of a callable which cannot travel is check_captures().
template <class F>
std::uint32_t function_index() noexcept {
  return detail::Registration<F>::slot.index();
}

}  // namespace dsfabric
