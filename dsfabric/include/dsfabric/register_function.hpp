// SPDX-License-Identifier: MIT
// Named callables that a program runs for others without ever calling them itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dsfabric/callable.hpp"
#include "dsfabric/detail/arguments.hpp"
#include "dsfabric/detail/broadcast.hpp"
#include "dsfabric/detail/call_wrappers.hpp"

namespace dsfabric {

/// Registers F with everything that the call family makes of it (call_return, call_buffer,
/// broadcast), so that a different program of the job can have it run here. A program that calls F
/// itself needs this only for the forms that it does not use. That the line is in the program is
/// enough: registration happens before main. Any thread, wait-free.
///
/// For calls with arguments, `A` are their types, as the caller gives them (travels.hpp), a
/// std::string for a literal: `register_function<Greet, std::string, int>()`. Functions of one name
/// with other arguments or another result are others.
template <NamedCallable F, class... A>
requires RemoteCallable<F>
void register_function() noexcept {
  const auto all = []<class... Callables>() { ((void)function_index<Callables>(), ...); };
  if constexpr (sizeof...(A) != 0) {
    detail::check_arguments<F, A...>();
    if constexpr (detail::kAsCaptures<F, A...>) {
      using Called = detail::WithPlainArguments<F, A...>;
      all.template operator()<Called, detail::Returning<Called>>();
    } else {
      all.template
      operator()<detail::WithArguments<F, A...>, detail::ReturningWithArguments<F, A...>>();
    }
  } else if constexpr (!CallableRemotely<F>) {
    static_assert(CallableRemotely<F>,
                  "cariama: name the types of its arguments too: register_function<F, A, B>().");
  } else if constexpr (std::is_invocable_v<F&, CallContext&, std::byte*, std::uint32_t>) {
    all.template operator()<F, detail::AtDestination<F>, detail::ReadBuffer<F>, detail::HandOver<F>,
                            detail::ReadAside<F>, detail::Broadcast<F>, detail::BroadcastWritten<F>,
                            detail::BroadcastRead<F>>();
  } else {
    all.template operator()<F, detail::Returning<F>, detail::Broadcast<F>>();
  }
}

}  // namespace dsfabric
