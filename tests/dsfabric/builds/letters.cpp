// SPDX-License-Identifier: MIT
// Asks the neighbour for both letters; linked with the two objects in one order, and in the other.
#include "dsfabric/builds/letters.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) try {
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  fabric.run([](dsfabric::Thread& self) {
    const bool right = ask_a(self) && ask_b(self);
    std::puts(right ? "all letters were right" : "a wrong function ran");
    self.barrier();
  });
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "letters: %s\n", error.what());
  return 1;
}
