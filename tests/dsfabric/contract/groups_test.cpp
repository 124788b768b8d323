// SPDX-License-Identifier: MIT
// Groups: collectives among some workers, at the same time as those of others.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "dsfabric/support/call_job.hpp"
#include "dsfabric/support/killed_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/per_process.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::contains;
using support::end_victim;
using support::ForkJob;
using support::in_every_mode;
using support::ledger;
using support::Member;
using support::require;
using support::require_equal;
using support::run_and_kill;
using support::serve_until;

namespace {

/// Workers of these ranks, in this order.
std::vector<ThreadId> workers(const Fabric& fabric, const std::vector<std::uint32_t>& ranks) {
  std::vector<ThreadId> all;
  for (const std::uint32_t rank : ranks) all.push_back(fabric.thread_of_rank(rank));
  return all;
}

bool is_in(Thread& self, const std::vector<ThreadId>& members) {
  return std::find(members.begin(), members.end(), self.id()) != members.end();
}

/// More bytes than one gathering carries.
struct Numbers {
  std::uint64_t numbers[20];
};

void use(Group& group, std::uint64_t salt, std::uint32_t rounds) {
  const std::uint32_t mine = group.rank();
  for (std::uint32_t round = 0; round < rounds; ++round) {
    Numbers large{};
    for (std::uint64_t& number : large.numbers) number = salt + mine * 100 + round;
    const std::vector<Numbers> all = group.all_gather(large);
    require_equal(all.size(), group.size(), "values");
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      require_equal(all[rank].numbers[19], salt + rank * 100 + round, "value of that rank");
    }
    group.barrier();
    require_equal(group.all_reduce(mine), group.size() * (group.size() - 1) / 2, "sum");
    const std::uint32_t root = round % group.size();
    require_equal(group.broadcast(salt + mine, group.member(root)), salt + root, "of the root");
  }
}

}  // namespace

TEST_CASE("collectives_of_a_group_take_its_members_only") {
  in_every_mode(4, 2, [](Thread& self) {
    // Not in the order of the job, and some processes with one worker, one with two, one with none.
    const auto members = workers(self.fabric(), {5, 0, 2, 4});
    if (is_in(self, members)) {
      Group group(self, members);
      require_equal(group.size(), 4u, "members");
      require(group.member(group.rank()) == self.id(), "its own rank");
      use(group, 1000, 20);
    }
    self.barrier();
  });
}

TEST_CASE("groups_are_used_at_the_same_time") {
  in_every_mode(3, 2, [](Thread& self) {
    // All first workers, and all second workers, which do more; and each process by itself.
    const std::uint32_t which = self.id().index;
    Group across(self, workers(self.fabric(), {which, which + 2, which + 4}));
    const auto first = static_cast<std::uint32_t>(self.id().process.value * 2);
    Group here(self, workers(self.fabric(), {first, first + 1}));
    use(across, which * 10'000, which == 0 ? 10 : 60);
    use(here, 7, 10);
    Group again(self, workers(self.fabric(), {which, which + 2, which + 4}));
    use(again, which * 20'000, 10);
    use(across, which * 30'000, 10);
    self.barrier();
  });
}

TEST_CASE("group_of_one_meets_nobody") {
  in_every_mode(2, 1, [](Thread& self) {
    Group alone(self, {self.id()});
    use(alone, 5, 5);
    self.barrier();
  });
}

TEST_CASE("groups_that_end_make_room_for_others") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    fabric.run([&](Thread& self) {
      for (std::uint32_t i = 0; i < 1500; ++i) {
        Group group(self, workers(fabric, i % 2 == 0 ? std::vector<std::uint32_t>{0, 1}
                                                     : std::vector<std::uint32_t>{1, 0}));
        require_equal(group.broadcast(i, group.member(0)), i, "the number");
      }
    });
  });
  CHECK(job.wait(std::chrono::seconds(50)) == "");
}

TEST_CASE("groups_that_cannot_be_are_refused_in_words") {
  in_every_mode(2, 1, [](Thread& self) {
    const auto refusal = [&](std::vector<ThreadId> members) {
      return support::error_text([&] { Group group(self, std::move(members)); });
    };
    const ThreadId other = self.neighbour(1);
    const auto says = [](const std::string& text, const char* part) {
      require(text.find(part) != std::string::npos, text);
    };
    says(refusal({}), "no worker of process");
    says(refusal({other}), "no worker of process");
    says(refusal({self.id(), self.id()}), "named twice");
    says(refusal({self.id(), {{7}, 0}}), "thread 7.0 is no worker");
    Group both(self, workers(self.fabric(), {0, 1}));
    says(support::error_text([&] { (void)both.broadcast(1, {{0}, 9}); }), "0.9 is no member");
    self.barrier();
  });
}

TEST_CASE("worker_that_makes_a_group_of_others_is_told") {
  in_every_mode(1, 2, [](Thread& self) {
    if (self.id().index == 0) {
      const std::string text = support::error_text([&] { Group group(self, {{{0}, 1}}); });
      require(text.find("thread 0.0 is no member") != std::string::npos, text);
    }
    self.barrier();
  });
}

TEST_CASE("members_that_name_different_lists_are_told_in_time") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    config.start_timeout = std::chrono::seconds(3);
    Fabric fabric = member.join(config);
    fabric.run([&](Thread& self) {
      const bool first = self.id().process.value == 0;
      Group group(self, workers(fabric, first ? std::vector<std::uint32_t>{0, 1}
                                              : std::vector<std::uint32_t>{1, 0}));
    });
  });
  const std::string said = job.wait(std::chrono::seconds(40));
  CHECK_THAT(said, contains("making a Group") && contains("has not come in time"));
}

TEST_CASE("group_in_different_collectives_is_named") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    fabric.run([&](Thread& self) {
      Group group(self, workers(fabric, {0, 1}));
      self.id().process.value == 0 ? group.barrier() : (void)group.all_gather(std::uint64_t{3});
    });
  });
  const std::string said = job.wait(std::chrono::seconds(20));
  CHECK_THAT(said, contains("Group::barrier()") && contains("Group::all_gather() of 8 bytes"));
}

TEST_CASE("broadcasts_over_a_group_run_at_its_members") {
  in_every_mode(4, 2, [](Thread& self) {
    static support::PerProcess<std::array<std::atomic<std::uint64_t>, 8>> run;
    const auto members = workers(self.fabric(), {6, 1, 2, 7, 4});
    SymmetricBuffer piece(self, 64);
    if (is_in(self, members)) {
      Group group(self, members);
      SendChannel calls(self.fabric());
      ExecutionSlots executed(self.fabric());
      const auto count = [](CallContext& call) { ++(*run)[call.worker->id().index]; };
      const auto look = [](CallContext& call, std::byte* data, std::uint32_t bytes) {
        if (bytes != 8 || data[0] != std::byte{42}) ++ledger().wrong;
        ++(*run)[call.worker->id().index];
      };
      for (std::uint32_t turn = 0; turn < group.size(); ++turn) {
        if (turn == group.rank()) {
          const std::vector<std::byte> eight(8, std::byte{42});
          dtutils::RDMAMemory memory = self.fabric().general_allocator().allocate(8);
          std::copy(eight.begin(), eight.end(), memory.data());
          require(calls.broadcast(group, count, &executed) == CallStatus::kAccepted, "goes");
          require(executed.wait().empty(), "all have run it");
          require(calls.broadcast_buffer(group, look, eight, &executed) == CallStatus::kAccepted,
                  "goes");
          require(executed.wait().empty(), "all have looked");
          require(calls.broadcast_buffer(group, look, memory, piece, 8, executed) ==
                      CallStatus::kAccepted,
                  "goes");
          require(executed.wait().empty(), "all have what was written");
          require(calls.broadcast_buffer(group, look, memory, executed) == CallStatus::kAccepted,
                  "goes");
          require(executed.wait().empty(), "all have read");
        }
        group.barrier();
        require_equal((*run)[self.id().index].load(), 4u * (turn + 1), "calls here");
        group.barrier();
      }
    }
    self.barrier();
    if (!is_in(self, members)) require_equal((*run)[self.id().index].load(), 0u, "calls of others");
    require_equal(ledger().wrong.load(), 0u, "wrong calls");
    self.barrier();
  });
}

TEST_CASE("termination_of_a_group_waits_for_its_calls_only") {
  in_every_mode(4, 1, [](Thread& self) {
    // Two pairs; a chain of calls in each, of different lengths. The second pair is done with its
    // own while the first has not begun.
    const std::uint32_t pair = self.id().process.value / 2;
    static support::PerProcess<Fabric*> fabric;
    *fabric = &self.fabric();
    struct Chain {
      std::uint32_t left;
      void operator()(CallContext& call) const {
        ++ledger().calls;
        if (left == 0) return;
        SendChannel calls(**fabric);
        (void)calls.call(call.source, Chain{left - 1});
      }
    };
    Group group(self, workers(self.fabric(), {2 * pair, 2 * pair + 1}));
    if (pair == 0) {
      // Goes on when it hears that the other pair is through.
      serve_until(self, [] { return ledger().sum == 1; });
    }
    SendChannel calls(self.fabric());
    const std::uint32_t length = pair == 0 ? 200 : 301;
    if (group.rank() == 0) {
      require(calls.call(group.member(1), Chain{length}) == CallStatus::kAccepted, "goes");
    }
    wait_for_termination(group);
    require_equal(group.all_reduce(ledger().calls.load()), length + 1ull, "calls of the chain");
    if (pair == 1) {
      const ThreadId partner{{static_cast<std::uint16_t>(self.id().process.value - 2)}, 0};
      require(calls.call(partner, [] { ++ledger().sum; }) == CallStatus::kAccepted, "goes");
    }
    self.barrier();
  });
}

TEST_CASE("termination_of_parts_of_processes_is_refused") {
  in_every_mode(2, 2, [](Thread& self) {
    const std::uint32_t which = self.id().index;
    Group across(self, workers(self.fabric(), {which, which + 2}));
    const std::string text = support::error_text([&] { wait_for_termination(across); });
    require(text.find("calls are counted by process") != std::string::npos, text);
    self.barrier();
  });
}

TEST_CASE("death_of_a_stranger_leaves_a_group_as_it_is") {
  CHECK(run_and_kill(4, 3, [](Member& member, Thread& self) {
          Fabric& fabric = self.fabric();
          std::unique_ptr<Group> survivors;
          if (member.rank != 3)
            survivors = std::make_unique<Group>(self, workers(fabric, {0, 1, 2}));
          Group all(self, workers(fabric, {0, 1, 2, 3}));
          use(all, 3, 3);
          support::meet(member, self);
          if (member.rank == 0) end_victim(member.memory);
          if (member.rank == 3) support::serve_nothing();
          // Before, while and after the death is noticed.
          const auto all_know = [&] {
            return survivors->all_reduce(fabric.failures(),
                                         [](auto a, auto b) { return std::min(a, b); }) != 0;
          };
          while (!all_know()) use(*survivors, 9, 1);
          for (int i = 0; i < 3; ++i) use(*survivors, 11, 3);
          try {
            for (;;) all.barrier();
          } catch (const PeerFailed& failed) {
            require(failed.process().value == 3, failed.what());
          }
          Group next(self, workers(fabric, {2, 1, 0}));
          use(next, 13, 5);
        }) == "3: signal 9\n");
}
