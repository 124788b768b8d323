// SPDX-License-Identifier: MIT
// Wrong on purpose: the slot is for another type than the answer.
#include "dsfabric/dsfabric.hpp"

dsfabric::CallStatus ask(dsfabric::SendChannel& calls, dsfabric::ThreadId to) {
  dsfabric::ReturnSlot<int> slot(calls.fabric());
  return calls.call_return(
      to, [] { return 4.0; }, slot);
}
// expected: the ReturnSlot is for another type
