// SPDX-License-Identifier: MIT
// Every layer of an installed copy: workers call each other, and count in a shared table.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <riutils/riutils.hpp>
#include <sst/sst.hpp>

namespace {

struct Row {
  std::uint64_t greeted = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  static std::atomic<std::uint64_t> greetings{0};
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  sst::TableGroup group(fabric);
  sst::Table<Row> table(group);
  fabric.run([&](dsfabric::Thread& self) {
    riutils::RDMAMessengerGlobal messenger(self);
    const bool sent =
        messenger.call(self.neighbour(1), [] { ++greetings; }) == dsfabric::CallStatus::kAccepted;
    riutils::wait_for_termination(self);
    if (self.id().index == 0) table.set(&Row::greeted, greetings.load());
    const std::uint64_t everybody = self.all_reduce(sent ? std::uint64_t{1} : 0);
    while (self.id().index == 0 && table.sum(&Row::greeted) != everybody) self.progress();
    self.barrier();
  });
  std::printf("process %u of %u: %lu greetings\n", fabric.process().value, fabric.processes(),
              static_cast<unsigned long>(greetings.load()));
  return fabric.processes() == 2 ? 0 : 1;
} catch (const std::exception& error) {
  std::printf("%s\n", error.what());
  return 1;
}
