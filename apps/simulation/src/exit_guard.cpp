// SPDX-License-Identifier: MIT
// std::exit in nodes.
#include "exit_guard.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "dtutils/simulation.hpp"

namespace simulation {
namespace {

void complain(int status, void*) {
  const dtutils::Simulation* const cluster = dtutils::Simulation::current();
  // Others may exit as they like.
  if (cluster == nullptr) return;
  fmt::print(stderr,
             "simulation: node {} has called exit({}), which ends all nodes; return from its "
             "program (cariama_main) instead\n",
             cluster->node(), status);
  std::fflush(nullptr);
  _exit(status != 0 ? status : EXIT_FAILURE);
}

}  // namespace

void guard_exit() {
  // What is registered stays so.
  static std::once_flag registered;
  std::call_once(registered, [] { on_exit(complain, nullptr); });
}

}  // namespace simulation
