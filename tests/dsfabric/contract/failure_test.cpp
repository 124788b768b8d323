// SPDX-License-Identifier: MIT
// A process dies, throws, or leaves: what the others see.
#include "dsfabric/support/fork_job.hpp"
#include "dsfabric/support/killed_job.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using dsfabric::detail::PendingReply;
using dtutils::Synchronizer;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

namespace {

using dtutils::Clock;

Config config_of(std::uint32_t threads) {
  Config config;
  config.threads = threads;
  return config;
}

/// Dies; notes when.
[[noreturn]] void die(Member& member) {
  member.memory.words[0] = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  member.die();
}

/// Within which a death must be known: shm watches processes, and tells within a second where they
/// have cores to run on; an adapter waits for an answer.
double limit_seconds() { return support::device_name() == "shm" ? 5 : 8; }

double seconds_since_death(Member& member) {
  const Clock::time_point died{Clock::duration(member.memory.words[0].load())};
  return std::chrono::duration<double>(Clock::now() - died).count();
}

template <class Call>
ProcessId failed_in(Call&& call) {
  try {
    call();
  } catch (const PeerFailed& failure) {
    return failure.process();
  }
  support::fail("PeerFailed was thrown");
}

}  // namespace

TEST_CASE("barriers_fail_soon_after_a_death") {
  const auto letters = GENERATE(ForkJob::Letters::kYes, ForkJob::Letters::kNo);
  ForkJob job(
      3,
      [](Member& member) {
        Fabric fabric = member.join(config_of(2));
        std::atomic<int> upcalls{0};
        fabric.on_failure([&](ProcessId process, const std::string& reason) {
          require(process == ProcessId{2} && !reason.empty(), "the upcall names it");
          ++upcalls;
        });
        fabric.run([&](Thread& self) {
          const ProcessId failed = failed_in([&] {
            for (;;) {
              // Also the first one may end for the dead only.
              self.barrier();
              if (member.rank == 2) die(member);
            }
          });
          require(failed == ProcessId{2}, "it is named");
          require(seconds_since_death(member) < limit_seconds(), "in time");
          require(failed_in([&] { self.all_gather(1); }) == failed, "also in later collectives");
        });
        require(fabric.failed({2}) && !fabric.failed({0}) && !fabric.failed({1}), "only it failed");
        require(fabric.failure_reason({2}) != "", "there is a reason");
        require(support::eventually([&] { return upcalls == 1; }), "one upcall");
      },
      letters);
  CHECK(job.wait() == "2: signal 9\n");
}

TEST_CASE("an_idle_survivor_learns_of_a_death") {
  const auto letters = GENERATE(ForkJob::Letters::kYes, ForkJob::Letters::kNo);
  ForkJob job(
      2,
      [](Member& member) {
        Fabric fabric = member.join(config_of(1));
        std::atomic<bool> told{false};
        fabric.on_failure([&](ProcessId, const std::string&) { told = true; });
        if (member.rank == 1) {
          dtutils::sleep_for(std::chrono::milliseconds(50));
          die(member);
        }
        require(support::eventually([&] { return told.load(); }), "told");
        require(seconds_since_death(member) < limit_seconds(), "in time");
      },
      letters);
  CHECK(job.wait() == "1: signal 9\n");
}

TEST_CASE("survivors_go_on_with_each_other") {
  ForkJob job(3, [](Member& member) {
    Fabric fabric = member.join(config_of(1));
    std::atomic<int> ran{0};
    fabric.set_message_handler(MessageKind::kFirstFree,
                               {[](void* context, const Incoming&) {
                                  ++*static_cast<std::atomic<int>*>(context);
                                  return true;
                                },
                                &ran});
    fabric.run([&](Thread& self) {
      if (member.rank == 2) die(member);
      while (!fabric.failed({2})) self.progress();
      SendSpace none(fabric, {2}, 8);
      require(!none, "no space for the dead");
      Synchronizer sent(1);
      require(!none.commit(MessageKind::kFirstFree, {{2}, 0}, &sent), "nothing is sent");
      require(sent.outcome() == Synchronizer::Outcome::kFailed, "and the Synchronizer knows");
      const ThreadId other{{static_cast<std::uint16_t>(1 - member.rank)}, 0};
      SendSpace space(fabric, other.process, 8);
      require(space && space.commit(MessageKind::kFirstFree, other), "the other one lives");
      require(support::eventually([&] {
                self.progress();
                return ran == 1;
              }),
              "its message arrives");
      RemoteMemory memory = fabric.allocate_near(other, 100);
      require(static_cast<bool>(memory), "it gives memory");
      require(failed_in([&] { fabric.allocate_remote({2}, 8); }) == ProcessId{2},
              "the dead one does not");
      // The other may still need an answer.
      member.memory.words[1]++;
      while (member.memory.words[1] < 2) self.progress();
    });
  });
  CHECK(job.wait() == "2: signal 9\n");
}

TEST_CASE("what_waits_for_a_reply_of_the_dead_fails") {
  ForkJob job(2, [](Member& member) {
    Fabric fabric = member.join(config_of(1));
    fabric.run([&](Thread& self) {
      self.barrier();
      if (member.rank == 1) {
        dtutils::sleep_for(std::chrono::milliseconds(50));
        die(member);
      }
      Synchronizer reply(1);
      PendingReply pending(fabric, {1}, reply);
      require(static_cast<bool>(pending), "it lives as yet");
      require(reply.wait_for(std::chrono::seconds(10)) == Synchronizer::Outcome::kFailed,
              "the wait ends");
      require(seconds_since_death(member) < limit_seconds(), "in time");
      Synchronizer late(3);
      PendingReply after(fabric, {1}, late);
      require(!after && late.done() && late.failures() == 3, "at once for the dead");
    });
  });
  CHECK(job.wait() == "1: signal 9\n");
}

TEST_CASE("pending_transfers_to_the_dead_fail") {
  ForkJob job(2, [](Member& member) {
    Fabric fabric = member.join(config_of(1));
    fabric.set_message_handler(MessageKind::kFirstFree,
                               {[](void*, const Incoming&) { return true; }, nullptr});
    fabric.run([&](Thread& self) {
      self.barrier();
      if (member.rank == 1) {
        // Takes nothing in, so that the sender comes to wait.
        dtutils::sleep_for(std::chrono::milliseconds(100));
        die(member);
      }
      // A sender that waits for room must not wait forever either.
      for (;;) {
        SendSpace space(fabric, {1}, 2000);
        if (!space || !space.commit(MessageKind::kFirstFree, {{1}, 0})) break;
      }
      require(support::eventually([&] { return fabric.failed({1}); }), "it failed");
      require(seconds_since_death(member) < limit_seconds(), "in time");
    });
  });
  CHECK(job.wait() == "1: signal 9\n");
}

TEST_CASE("a_worker_that_throws_ends_the_run_with_its_words_everywhere") {
  const auto letters = GENERATE(ForkJob::Letters::kYes, ForkJob::Letters::kNo);
  // As long as what describes the failure of yet another process.
  const std::string words = "out of cheese, " + std::string(200, 'e') + ", said the mouse";
  ForkJob job(
      2,
      [&](Member& member) {
        Fabric fabric = member.join(config_of(2));
        std::string text;
        try {
          fabric.run([&](Thread& self) {
            if (self.id() == ThreadId{{1}, 1}) throw std::runtime_error(words);
            for (;;) self.barrier();
          });
        } catch (const std::runtime_error& error) {
          text = error.what();
        }
        require(text.find(words) != std::string::npos, "run() threw: " + text);
        if (member.rank == 1) {
          require(text == words, "its own exception");
        } else {
          require(fabric.failed({1}), "the other one has failed");
        }
      },
      letters);
  CHECK(job.wait() == "");
}

TEST_CASE("run_returns_when_workers_handle_the_failure_themselves") {
  ForkJob job(2, [](Member& member) {
    Fabric fabric = member.join(config_of(2));
    fabric.run([&](Thread& self) {
      if (member.rank == 1 && self.id().index == 0) die(member);
      while (!fabric.failed({1})) self.progress();
    });
    require_equal(fabric.failures(), 1u, "failures");
  });
  CHECK(job.wait() == "1: signal 9\n");
}

TEST_CASE("a_peer_that_left_ends_a_barrier_it_does_not_take_part_in") {
  const auto letters = GENERATE(ForkJob::Letters::kYes, ForkJob::Letters::kNo);
  ForkJob job(
      2,
      [](Member& member) {
        Fabric fabric = member.join(config_of(1));
        if (member.rank == 1) return;
        bool failed = false;
        try {
          fabric.run([](Thread& self) { self.barrier(); });
        } catch (const PeerFailed& failure) {
          failed = failure.process() == ProcessId{1};
        }
        require(failed, "the barrier failed");
        require(fabric.state({1}) == PeerState::kLeft, "though it only left");
      },
      letters);
  CHECK(job.wait() == "");
}

TEST_CASE("memory_given_to_the_dead_comes_back") {
  ForkJob job(2, [](Member& member) {
    Fabric fabric = member.join(config_of(1));
    fabric.run([&](Thread& self) {
      const std::size_t before = fabric.general_allocator().in_use();
      self.barrier();
      if (member.rank == 1) {
        const RemoteMemory memory = fabric.allocate_remote({0}, 10'000);
        die(member);
      }
      require(support::eventually([&] {
                self.progress();
                return fabric.failed({1}) && fabric.general_allocator().in_use() == before;
              }),
              "it came back");
    });
  });
  CHECK(job.wait() == "1: signal 9\n");
}
