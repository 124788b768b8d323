// SPDX-License-Identifier: MIT
// A library for dlopen(3) that calls over a ring.
#include <cstdio>
#include <exception>

#include "riutils/riutils.hpp"

extern "C" void call_from_library(dsfabric::Thread& self) try {
  riutils::RDMAMessengerGlobal calls(self);
  const int answer = calls.call_return(self.neighbour(1), [] { return 4711; }).get();
  std::puts(answer == 4711 ? "the library's function ran" : "a wrong function ran");
} catch (const std::exception& error) {
  std::printf("refused: %s\n", error.what());
}
