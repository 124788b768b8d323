// SPDX-License-Identifier: MIT
// Wrong on purpose: a reference is an address of this process.
#include "dsfabric/dsfabric.hpp"

dsfabric::CallStatus count(dsfabric::SendChannel& calls, dsfabric::ThreadId to) {
  int counted = 0;
  return calls.call(to, [&counted] { ++counted; });
}
// expected: must not capture by reference
