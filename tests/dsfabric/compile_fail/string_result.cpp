// SPDX-License-Identifier: MIT
// Wrong on purpose: a result travels as bytes too.
#include <string>

#include "dsfabric/dsfabric.hpp"

dsfabric::CallStatus ask(dsfabric::SendChannel& calls, dsfabric::ThreadId to) {
  dsfabric::ReturnSlot<std::string> slot(calls.fabric());
  return calls.call_return(
      to, [] { return std::string("answer"); }, slot);
}
// expected: the result of a remote call must be plain data
