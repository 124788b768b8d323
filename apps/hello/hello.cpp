// SPDX-License-Identifier: MIT
// The first program: every worker calls its neighbour, wherever that lives.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "dsfabric/dsfabric.hpp"

namespace {

void greet_neighbour(dsfabric::Thread& self) {
  dsfabric::SendChannel calls{self.fabric()};
  dsfabric::ReturnSlot<void> greeted{self.fabric()};
  const dsfabric::ThreadId next = self.neighbour(+1);
  const auto greet = [from = self.id()](dsfabric::CallContext& call) {
    // Runs on thread `next`.
    fmt::print("thread {} was called by thread {}\n", call.worker->id(), from);
  };
  if (calls.call_return(next, greet, greeted) != dsfabric::CallStatus::kAccepted) return;
  greeted.get();   // waits until `greet` has run there; this worker serves others meanwhile
  self.barrier();  // and goes on serving until everybody has greeted
}

}  // namespace

int main(int argc, char** argv) try {
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);  // rendezvous, device, queue pairs
  fabric.run(greet_neighbour);                           // one pinned worker per core
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "hello: {}\n", error.what());
  return EXIT_FAILURE;
}
