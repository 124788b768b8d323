// SPDX-License-Identifier: MIT
// A member dies: all others are told which one, whatever they were doing.
#include <string>

#include "dsfabric/support/killed_job.hpp"
#include "groups/groups.hpp"
#include "groups/support/messages.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace groups;
using dsfabric::Group;
using dsfabric::Thread;
using support::Inbox;
using support::Member;
using support::require;

namespace {

/// All send message after message until the victim is missed.
void send_until_lost(Member& member, Thread& self, Schedule schedule, std::uint32_t victim) {
  Group group(self, support::all_workers(self));
  Inbox inbox;
  for (std::uint32_t root = 0; root < group.size(); ++root) inbox.expected[root] = root;
  dtutils::RDMAMemory memory = support::message(group, 50'000, group.rank());
  {
    LargeMulticast multicast(group, {.block = 1000, .schedule = schedule}, inbox.upcalls());
    support::meet(member, self);
    bool told = false;
    support::serve_until(self, [&] {
      try {
        if (!multicast.sending()) multicast.send(memory, 50'000);
        multicast.progress();
      } catch (const dsfabric::PeerFailed& failed) {
        require(failed.process().value == victim, failed.what());
        told = true;
      }
      // Messages were on their way for a while when it dies.
      if (inbox.received >= 20) support::end_victim(member.memory);
      return told;
    });
    // And so for ever after.
    const std::string again = support::error_text([&] { multicast.send(memory, 1); });
    require(again.find("a large multicast") != std::string::npos, again);
    require(support::error_text([&] { multicast.progress(); }) != "", "progress says so as well");
  }
}

}  // namespace

TEST_CASE("a_death_is_named_at_all_members") {
  const Schedule schedule = GENERATE(Schedule::kSequential, Schedule::kChain,
                                     Schedule::kBinomialTree, Schedule::kBinomialPipeline);
  CHECK(support::run_and_kill(4, 2, [&](Member& member, Thread& self) {
          send_until_lost(member, self, schedule, 2);
        }) == "2: signal 9\n");
}

TEST_CASE("death_of_the_root_leaves_nobody_waiting") {
  CHECK(support::run_and_kill(3, 1, [&](Member& member, Thread& self) {
          Group group(self, support::all_workers(self));
          Inbox inbox;
          inbox.expected[1] = 4;
          LargeMulticast multicast(group, {.block = 1000}, inbox.upcalls());
          support::meet(member, self);
          if (member.rank == 1) {
            // It announces, sends one block, and is not seen again.
            multicast.send(support::message(group, 100'000, 4), 100'000);
            support::serve_until(self, [&] { return multicast.progress(); });
            support::end_victim(member.memory);
            support::serve_nothing();
          }
          bool told = false;
          support::serve_until(self, [&] {
            try {
              multicast.progress();
            } catch (const dsfabric::PeerFailed& failed) {
              require(failed.process().value == 1, failed.what());
              told = true;
            }
            return told;
          });
          require(inbox.received == 0, "no part of a message counts as a message");
        }) == "1: signal 9\n");
}

TEST_CASE("death_of_a_stranger_stops_no_message") {
  CHECK(support::run_and_kill(3, 2, [&](Member& member, Thread& self) {
          if (member.rank == 2) {
            support::meet(member, self);
            support::serve_nothing();
          }
          Group group(self, {{{0}, 0}, {{1}, 0}});
          Inbox inbox;
          inbox.expected[0] = 0;
          const dtutils::RDMAMemory memory = support::message(group, 50'000, 0);
          LargeMulticast multicast(group, {.block = 1000}, inbox.upcalls());
          support::meet(member, self);
          std::uint64_t& received = inbox.received;
          // 20 messages before the death is known, and 20 after it.
          for (std::uint64_t until : {20u, 40u}) {
            while (received < until) {
              if (member.rank == 0 && !multicast.sending()) {
                multicast.send(memory, 50'000);
                ++received;
              }
              support::progress_until(group, multicast, [&, before = received] {
                return member.rank == 0 ? !multicast.busy() : received > before;
              });
            }
            support::end_victim(member.memory);
            support::serve_until(self, [&] { return self.fabric().failed({2}); });
          }
          group.barrier();
        }) == "2: signal 9\n");
}
