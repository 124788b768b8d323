// SPDX-License-Identifier: MIT
// Tutorial, step 1: every worker calls its neighbour, wherever that lives.
#include <fmt/format.h>

#include "dsfabric/dsfabric.hpp"
#include "simulation/settings_only_main.hpp"

int cariama_main(int argc, char** argv) try {
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);  // finds the other processes of the job
  fabric.run([](dsfabric::Thread& self) {                // one worker for each core
    dsfabric::SendChannel calls{self.fabric()};
    const auto greet = [from = self.id()](dsfabric::CallContext& call) {
      fmt::print("thread {} was called by thread {}\n", call.worker->id(), from);
    };
    if (calls.call(self.neighbour(+1), greet) == dsfabric::CallStatus::kPeerGone)
      fmt::print("thread {} is gone\n", self.neighbour(+1));
  });  // returns when all calls of the job have run
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "hello: {}\n", error.what());
  return 1;
}
