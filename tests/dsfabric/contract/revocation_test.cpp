// SPDX-License-Identifier: MIT
// Collectives end at all members when one of them takes part no more, which some do not know.
#include <atomic>
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

#include "dsfabric/group.hpp"
#include "dsfabric/support/killed_job.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::ForkJob;
using support::meet;
using support::Member;
using support::require;
using support::require_equal;
using support::serve_until;

namespace {

/// Process 0 believes wrongly that the last one has failed, and goes on; it ends its run() when all
/// others have thrown, so that nothing else than its word can have ended their collective.
void give_up_and_go_on(Member& member, Thread& self, const std::function<void()>& collective) {
  std::atomic<std::uint64_t>& thrown = member.memory.words[0];
  const ProcessId last{static_cast<std::uint16_t>(member.size - 1)};
  if (member.rank == 0) self.fabric().fail(last, "given up in a test");
  for (int again = 0; again < 2; ++again) {
    try {
      collective();
      support::fail("the collective ended well");
    } catch (const PeerFailed& failure) {
      // The one that was given up takes that one for failed that gave it up, and may tell others.
      const bool self_is_one = member.rank == 0 || member.rank == last.value;
      const ProcessId other{static_cast<std::uint16_t>(last.value - member.rank)};
      const ProcessId named = failure.process();
      require(self_is_one ? named == other : named == last || named == ProcessId{0},
              failure.what());
    }
  }
  ++thrown;
  serve_until(self, [&] { return thrown == member.size; });
}

/// Making a group of all.
bool throws(Thread& self) {
  std::vector<ThreadId> all;
  for (std::uint16_t i = 0; i < self.fabric().processes(); ++i) all.push_back({{i}, 0});
  try {
    Group group(self, all);
  } catch (const PeerFailed&) {
    return true;
  }
  return false;
}

void in_a_job(std::uint32_t processes, const std::function<void(Member&, Thread&)>& work) {
  ForkJob job(processes, [&](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    try {
      fabric.run([&](Thread& self) {
        meet(member, self);
        work(member, self);
      });
    } catch (const PeerFailed& failure) {
      // Some have been given up.
      require(member.memory.words[0] == member.size, failure.what());
    }
  });
  CHECK(job.wait() == "");
}

}  // namespace

TEST_CASE("a_barrier_ends_at_those_that_know_of_no_failure") {
  const std::uint32_t processes = GENERATE(3u, 5u);
  in_a_job(processes, [](Member& member, Thread& self) {
    give_up_and_go_on(member, self, [&] { self.barrier(); });
  });
}

TEST_CASE("a_gathering_of_several_rounds_ends_at_those_that_know_of_no_failure") {
  // More than have one round, so that some are told by others than the first.
  in_a_job(18, [](Member& member, Thread& self) {
    give_up_and_go_on(member, self, [&] { (void)self.all_gather(1); });
  });
}

TEST_CASE("collectives_of_a_group_end_at_its_members_and_at_no_others") {
  // Process 0 gives up 3, with which it is in one group; with 1 alone it is in another one.
  in_a_job(4, [](Member& member, Thread& self) {
    const auto workers = [](std::initializer_list<std::uint16_t> processes) {
      std::vector<ThreadId> all;
      for (const std::uint16_t process : processes) all.push_back({{process}, 0});
      return all;
    };
    Group all(self, workers({0, 1, 2, 3}));
    std::optional<Group> pair;
    if (member.rank < 2) pair.emplace(self, workers({0, 1}));
    give_up_and_go_on(member, self, [&] { all.barrier(); });
    if (pair) require_equal(pair->all_reduce(1), 2, "both take part");
  });
}

TEST_CASE("a_group_that_is_made_after_its_end_throws") {
  in_a_job(3, [](Member& member, Thread& self) {
    std::atomic<std::uint64_t>& thrown = member.memory.words[0];
    if (member.rank == 0) {
      self.fabric().fail({2}, "given up in a test");
      require(throws(self), "it believes that one has failed");
    } else {
      // It knows by itself, or was told before it came.
      serve_until(self, [&] { return thrown != 0; });
      require(throws(self), "it was told");
    }
    ++thrown;
    serve_until(self, [&] { return thrown == member.size; });
  });
}
