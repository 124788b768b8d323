// SPDX-License-Identifier: MIT
// A library for dlopen(3), with functions that it calls remotely.
#include <cstdint>
#include <cstdio>

#include "dsfabric/dsfabric.hpp"

extern "C" void call_from_library(dsfabric::Thread& self) {
  dsfabric::SendChannel calls(self.fabric());
  dsfabric::ReturnSlot<std::uint64_t> slot(self.fabric());
  const std::uint64_t secret = 4711;
  for (int i = 0; i < 2; ++i) {
    try {
      const auto status = calls.call_return(
          self.neighbour(1), [answer = secret + 1] { return answer; }, slot);
      const bool right = status == dsfabric::CallStatus::kAccepted && slot.get() == secret + 1;
      std::puts(right ? "the library's function ran" : "a wrong function ran");
    } catch (const std::exception& error) {
      std::printf("refused: %s\n", error.what());
    }
  }
}
