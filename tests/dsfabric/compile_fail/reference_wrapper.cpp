// SPDX-License-Identifier: MIT
// Wrong on purpose: std::ref(f) is the address of f.
#include <functional>

#include "dsfabric/dsfabric.hpp"

dsfabric::CallStatus send(dsfabric::SendChannel& calls, dsfabric::ThreadId to) {
  const auto nothing = [] {};
  return calls.call(to, std::ref(nothing));
}
// expected: a pointer to a function
