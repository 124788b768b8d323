// SPDX-License-Identifier: MIT
// Refuses a multicast that nobody takes messages from.
#pragma once

#include <type_traits>

#include "sst/multicast_options.hpp"

namespace sst::detail {

/// Throws dtutils::Error for a multicast whose `deliver` is empty.
[[noreturn]] void refuse_empty_upcall(const MulticastOptions& options);

/// Throws dtutils::Error if `deliver` is a null pointer, or an object like std::function that is
/// empty. Lambdas are never empty; those without captures convert to pointers, but have no
/// operator bool. Setup only.
template <class Deliver>
void require_upcall(const Deliver& deliver, const MulticastOptions& options) {
  if constexpr (std::is_pointer_v<Deliver>) {
    if (deliver == nullptr) refuse_empty_upcall(options);
  } else if constexpr (requires { deliver.operator bool(); }) {
    if (!deliver.operator bool()) refuse_empty_upcall(options);
  }
}

}  // namespace sst::detail
