// SPDX-License-Identifier: MIT
// Wrong on purpose: a result with memory of its own has no way home.
#include <memory>

#include "dsfabric/dsfabric.hpp"

int ask(dsfabric::SendChannel& calls, dsfabric::ThreadId to) {
  return *calls.call_return(to, [] { return std::make_unique<int>(4); }).get();
}
// expected: the result of a remote call cannot travel
