// SPDX-License-Identifier: MIT
// Wrong on purpose: nobody would know what to pass.
#include "dsfabric/dsfabric.hpp"

dsfabric::CallStatus send(dsfabric::SendChannel& calls, dsfabric::ThreadId to) {
  return calls.call(to, [](int number) { (void)number; });
}
// expected: is called with nothing, or with (CallContext&)
