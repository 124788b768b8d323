// SPDX-License-Identifier: MIT
// A job of three under a PMIx launcher that lets it go on when a process dies: process 0, which
// carries the letters, is killed; those that are connected go on, and nobody waits in vain.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "dsfabric/support/word_memory.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::eventually;
using support::require;

int main(int argc, char** argv) try {
  // Queued, so that two of them are two. Before there are threads, which would take them.
  const int passed = SIGRTMIN;
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, passed);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);

  Fabric fabric = join(argc, argv);
  support::WordMemory words(fabric);
  const std::uint16_t self = fabric.process().value;
  require(fabric.processes() == 3, "three processes");
  require(!fabric.connected({static_cast<std::uint16_t>((self + 1) % 3)}), "nobody is connected");
  if (self == 1) require(words.write({2}, 1), "1 and 2 connect");
  if (self == 2) require(eventually([&] { return words.own(1) == 1; }), "they have connected");
  (void)fabric.exchange({});
  if (self != 0) {
    kill(static_cast<pid_t>(fabric.info({0}).pid), passed);
  } else {
    // It also answers the others, whose exchange must not be what fails.
    const timespec limit{20, 0};
    for (int others = 0; others < 2; ++others) {
      require(sigtimedwait(&wanted, nullptr, &limit) == passed, "both have exchanged");
    }
    kill(getpid(), SIGKILL);
  }
  const auto other = static_cast<std::uint16_t>(3 - self);
  require(eventually([&] { return fabric.failed({0}); }), "the death is known");
  require(!words.write({0}, 1), "nothing reaches the dead");
  require(words.write({other}, 2), "the connected go on");
  require(eventually([&] { return words.own(other) == 2; }), "both ways");
  require(fabric.failures() == 1, "nobody else has failed");
  fmt::print("process {} goes on\n", self);
} catch (const std::exception& error) {
  fmt::print(stderr, "survivors: {}\n", error.what());
  return 1;
}
