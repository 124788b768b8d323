// SPDX-License-Identifier: MIT
// Right: what the wrong ones should have been; it compiles, so those fail for their own reasons.
#include <string>

#include "dsfabric/dsfabric.hpp"

bool send(dsfabric::SendChannel& calls, dsfabric::ThreadId to) {
  constexpr auto kAccepted = dsfabric::CallStatus::kAccepted;
  int number = 0;
  dsfabric::ReturnSlot<int> slot(calls.fabric());
  return calls.call(to, [number] { (void)number; }) == kAccepted &&
         calls.call(to, [](dsfabric::CallContext& call) { (void)call; }) == kAccepted &&
         calls.call_return(
             to, [number] { return number; }, slot) == kAccepted &&
         calls.call_return(to, [number] { return number; }).get() == 0 &&
         calls.call(
             to, [](int, const std::string&) {}, number, "name") == kAccepted;
}
