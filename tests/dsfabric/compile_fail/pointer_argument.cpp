// SPDX-License-Identifier: MIT
// Wrong on purpose: the name's bytes stay behind.
#include "dsfabric/dsfabric.hpp"

dsfabric::CallStatus greet(dsfabric::SendChannel& calls, dsfabric::ThreadId to, const char* name) {
  return calls.call(
      to, [](const char* whom) { (void)whom; }, name);
}
// expected: as an argument of a remote call names memory of this process
