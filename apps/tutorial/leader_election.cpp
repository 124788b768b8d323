// SPDX-License-Identifier: MIT
// Tutorial, step 5: processes agree on who leads, the leader dies, and they agree on another one.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "simulation/settings_only_main.hpp"
#include "simulation/simulation.hpp"
#include "sst/sst.hpp"

namespace {

/// Each process writes its own row of the table and reads the rows of all.
struct Row {
  std::uint64_t seen;  // number of the last view that this process has seen
};

void elect(dsfabric::Fabric& fabric) {
  sst::TableGroup group{fabric};  // the connections that tables use
  sst::Table<Row> table{group};
  // All processes get the same views in the same order, so all name the same leader.
  sst::Membership membership{
      group, [&](const sst::View& view) {
        fmt::print("view {}: {} of {} members, {} leads\n", view.number, view.members.size(),
                   fabric.processes(), view.members.front());
        table.set(&Row::seen, view.number);  // stored here, and written to all others
      }};
  membership.take_part(true);

  // Agreement makes progress in evaluate(). A process must stay until the others have seen, too,
  // what it has decided with them.
  const auto seen_by_all = [&](const sst::View& view) {
    return std::ranges::all_of(view.members, [&](dsfabric::ProcessId process) {
      return table.get(*table.find(process), &Row::seen) >= view.number;
    });
  };
  sst::Pace pace{fabric};  // gives the core to others where processes outnumber cores
  const auto evaluate_until = [&](auto reached) {
    while (!reached(membership.view()) || !seen_by_all(membership.view())) {
      if (membership.state() != sst::AgreementState::kWorking)
        throw std::runtime_error("no majority is left");
      pace.after(membership.evaluate());
    }
  };
  const dsfabric::ProcessId first{0};
  if (fabric.process() == first) {
    evaluate_until([&](const auto& view) { return view.members.size() == fabric.processes(); });
    std::fflush(stdout);
    simulation::die();  // a crash, as SIGKILL: it cleans up nothing and tells nobody
  }
  evaluate_until([&](const auto& view) { return view.number > 0 && view.members[0] != first; });
}

}  // namespace

int cariama_main(int argc, char** argv) try {
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  elect(fabric);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "leader_election: {}\n", error.what());
  return 1;
}
