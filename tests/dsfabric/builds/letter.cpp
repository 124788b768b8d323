// SPDX-License-Identifier: MIT
// One of two objects whose lambdas have the same name, size and captures.
#include "dsfabric/builds/letters.hpp"

#define CARIAMA_TEXT(x) #x
#define CARIAMA_TEXT_OF(x) CARIAMA_TEXT(x)
#define CARIAMA_JOIN(x, y) x##y
#define CARIAMA_JOIN_OF(x, y) CARIAMA_JOIN(x, y)

namespace {

bool ask(dsfabric::Thread& self) {
  dsfabric::SendChannel calls(self.fabric());
  dsfabric::ReturnSlot<char> slot(self.fabric());
  const auto status = calls.call_return(
      self.neighbour(1), [] { return CARIAMA_TEXT_OF(LETTER)[0]; }, slot);
  return status == dsfabric::CallStatus::kAccepted && slot.get() == CARIAMA_TEXT_OF(LETTER)[0];
}

}  // namespace

bool CARIAMA_JOIN_OF(ask_, LETTER)(dsfabric::Thread& self) { return ask(self); }
