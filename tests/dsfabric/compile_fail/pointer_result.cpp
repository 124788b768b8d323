// SPDX-License-Identifier: MIT
// Wrong on purpose: the letters stay where the call ran.
#include <string>

#include "dsfabric/dsfabric.hpp"

std::string ask(dsfabric::SendChannel& calls, dsfabric::ThreadId to) {
  return calls.call_return(to, [] { return "answer"; }).get();
}
// expected: as the result of a remote call names memory
