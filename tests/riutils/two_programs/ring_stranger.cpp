// SPDX-License-Identifier: MIT
// A program that has rings, and no function of a name that the others know.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "riutils/riutils.hpp"

int main(int argc, char** argv) try {
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  fabric.run([](dsfabric::Thread& self) {
    riutils::RDMAMessengerGlobal calls(self);
    calls.call_return(self.neighbour(1), [] {}).get();
  });
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "ring_stranger: %s\n", error.what());
  return EXIT_FAILURE;
}
