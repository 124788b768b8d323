// SPDX-License-Identifier: MIT
// Boards of other processes, read by all schemes; deaths, limits, and the socket of a Reporter.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../support/one_worker.hpp"
#include "dsfabric/support/fork_job.hpp"
#include "monitoring/monitoring.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace monitoring;
using namespace support;

namespace {

std::optional<std::uint64_t> figure(Watcher& watcher, dsfabric::ProcessId process,
                                    const std::string& name, const Reading& reading) {
  const auto& counters = watcher.counters(process, reading.count);
  for (std::size_t i = 0; i < counters.size() && i < reading.count; ++i) {
    if (counters[i].name == name) return reading.values[i];
  }
  return std::nullopt;
}

void require_status(Status status, Status wanted, Where where = Where::current()) {
  if (status != wanted) fail(std::string(to_string(status)) + ", not " + to_string(wanted), where);
}

}  // namespace

TEST_CASE("every_scheme_reads_the_counters_of_another_process") {
  ForkJob job(2, [](Member& member) {
    dsfabric::Fabric fabric = member.join(one_worker());
    if (member.rank == 1) {
      Board board(fabric);
      Counter requests = board.counter("requests", "1");
      Counter queued = board.counter("queued", "", Kind::kLevel);
      const Sampler sampler(fabric, std::chrono::hours(1));
      requests.add(41);
      requests.add();
      queued.set(9);
      queued.subtract(2);
      meet(member, fabric, 0);
      meet(member, fabric, 1);
      return;
    }
    Watcher watcher(fabric);
    meet(member, fabric, 0);
    const dsfabric::ProcessId other{1};
    for (const Scheme scheme : {Scheme::kRdmaSync, Scheme::kMessageSync}) {
      Reading reading;
      require_status(watcher.read(other, reading, scheme), Status::kDone);
      require_equal(figure(watcher, other, "requests", reading).value_or(0), 42u, "requests");
      require_equal(figure(watcher, other, "queued", reading).value_or(0), 7u, "queued");
      require(figure(watcher, other, "node.threads", reading).value_or(0) > 0, "threads");
      require(figure(watcher, other, "process.resident", reading).value_or(0) > 0, "resident");
      require_equal(figure(watcher, other, "process.threads", reading).value_or(0) > 1, true,
                    "threads of the process");
    }
    // The copies are from before the counters were changed.
    for (const Scheme scheme : {Scheme::kRdmaAsync, Scheme::kMessageAsync}) {
      Reading reading;
      require_status(watcher.read(other, reading, scheme), Status::kDone);
      require(reading.sampled_at != 0, "the time of the copy");
      require_equal(figure(watcher, other, "requests", reading).value_or(1), 0u, "requests");
    }
    const auto& counters = watcher.counters(other, 2);
    require(counters[0].unit == "1" && counters[0].kind == Kind::kTotal, "requests");
    require(counters[1].unit.empty() && counters[1].kind == Kind::kLevel, "queued");
    meet(member, fabric, 1);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("an_rdma_read_needs_nobody_there") {
  ForkJob job(2, [](Member& member) {
    dsfabric::Fabric fabric = member.join(one_worker());
    if (member.rank == 1) {
      Board board(fabric);
      Counter steps = board.counter("steps");
      meet(member, fabric, 0);
      // Nothing here serves the fabric; a service thread has nothing to do with reads.
      while (member.memory.words[1] == 0) steps.add();
      member.memory.words[2] = steps.value();
      meet(member, fabric, 3);
      return;
    }
    Watcher watcher(fabric);
    meet(member, fabric, 0);
    std::uint64_t last = 0;
    Reading reading;
    for (int i = 0; i < 1000 || last == 0; ++i) {
      require_status(watcher.read({1}, reading), Status::kDone);
      require(reading.values[0] >= last, "a total only grows");
      last = reading.values[0];
    }
    member.memory.words[1] = 1;
    require(eventually([&] { return member.memory.words[2] != 0; }), "it has ended");
    require_status(watcher.read({1}, reading), Status::kDone);
    require_equal(reading.values[0], member.memory.words[2].load(), "the last number");
    meet(member, fabric, 3);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("counters_of_many_threads_add_up_and_names_come_later") {
  ForkJob job(2, [](Member& member) {
    dsfabric::Fabric fabric = member.join(one_worker());
    Board board(fabric);
    constexpr std::uint64_t kEach = 20'000;
    if (member.rank == 1) {
      meet(member, fabric, 0);
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&board, i] {
          Counter all = board.counter("all");
          Counter own = board.counter("of." + std::to_string(i));
          for (std::uint64_t n = 0; n < kEach; ++n) {
            all.add();
            own.add(2);
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      meet(member, fabric, 1);
      meet(member, fabric, 2);
      return;
    }
    Watcher watcher(fabric);
    Reading reading;
    meet(member, fabric, 0);
    require_status(watcher.read({1}, reading), Status::kDone);
    (void)watcher.counters({1}, reading.count);
    meet(member, fabric, 1);
    require_status(watcher.read({1}, reading), Status::kDone);
    require_equal(reading.count, 5u, "counters");
    require_equal(figure(watcher, {1}, "all", reading).value_or(0), 4 * kEach, "all");
    for (int i = 0; i < 4; ++i) {
      require_equal(figure(watcher, {1}, "of." + std::to_string(i), reading).value_or(0), 2 * kEach,
                    "of one thread");
    }
    meet(member, fabric, 2);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("who_has_no_board_no_sample_or_is_dead_is_told_apart") {
  ForkJob job(3, [](Member& member) {
    dsfabric::Fabric fabric = member.join(one_worker());
    if (member.rank == 2) {
      Board board(fabric);
      meet(member, fabric, 0);
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    if (member.rank == 1) {
      meet(member, fabric, 0);
      require(eventually([&] {
                fabric.progress();
                return member.memory.words[1] != 0;
              }),
              "the end");
      return;
    }
    Watcher watcher(fabric);
    meet(member, fabric, 0);
    Reading reading;
    for (const Scheme scheme :
         {Scheme::kRdmaSync, Scheme::kRdmaAsync, Scheme::kMessageSync, Scheme::kMessageAsync}) {
      require_status(watcher.read({1}, reading, scheme), Status::kNoBoard);
      require_status(watcher.read({9}, reading, scheme), Status::kGone);
    }
    require_status(watcher.read({2}, reading), Status::kDone);
    require_equal(reading.count, 0u, "counters");
    require_status(watcher.read({2}, reading, Scheme::kRdmaAsync), Status::kNoSample);
    require_status(watcher.read({2}, reading, Scheme::kMessageAsync), Status::kNoSample);
    member.memory.words[2] = 1;  // the test kills it somewhere in here
    require(eventually([&] {
              const Status status = watcher.read({2}, reading);
              require(status == Status::kDone || status == Status::kGone, to_string(status));
              return status == Status::kGone;
            }),
            "the death is noticed");
    for (const Scheme scheme :
         {Scheme::kRdmaSync, Scheme::kRdmaAsync, Scheme::kMessageSync, Scheme::kMessageAsync}) {
      require(eventually([&] { return watcher.read({2}, reading, scheme) == Status::kGone; }),
              "gone");
    }
    require(watcher.counters({2}, 0).empty(), "no counters");
    member.memory.words[1] = 1;
  });
  REQUIRE(eventually([&] { return job.memory().words[2] != 0; }));
  job.kill(2);
  const std::string end = job.wait();
  INFO(end);
  CHECK(end.find("0: ") == std::string::npos);
  CHECK(end.find("1: ") == std::string::npos);
}

TEST_CASE("a_reporter_tells_programs_of_the_machine_what_all_boards_say") {
  ForkJob job(3, [](Member& member) {
    dsfabric::Fabric fabric = member.join(one_worker());
    std::optional<Board> board;
    if (member.rank != 2) {
      board.emplace(fabric);
      board->counter("done", "B").add(100 + member.rank);
    }
    meet(member, fabric, 0);
    if (member.rank == 0) {
      const Reporter reporter(fabric);
      const std::string text = ask_reporter(static_cast<std::uint64_t>(getpid()));
      require(text.starts_with("job 3\nprocess 0 " + std::to_string(getpid()) + " 0 "), text);
      require(text.find("ok\ncounter done total 100 B\nprocess 1") != text.npos, text);
      require(text.find("ok\ncounter done total 101 B\nprocess 2") != text.npos, text);
      require(text.ends_with(" the process has made no board\nend\n"), text);
      const std::string twice = error_text([&] { const Reporter another(fabric); });
      require(twice.find("it cannot listen") != twice.npos, twice);
    }
    meet(member, fabric, 1);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("what_workers_count_for_themselves_comes_to_the_board_while_they_make_progress") {
  ForkJob job(2, [](Member& member) {
    dsfabric::Config config = one_worker();
    config.threads = 2;
    dsfabric::Fabric fabric = member.join(config);
    Board board(fabric);
    fabric.run([&](dsfabric::Thread& self) {
      std::uint64_t mine = 0;
      {
        WorkerFigures figures(self, board, std::chrono::milliseconds(1));
        figures.total("mine", [&mine] { return mine; });
        mine = 10 + self.id().index;
        self.barrier();
        // Of both workers of process 1, read from afar while they only make progress.
        if (self.id() == dsfabric::ThreadId{{0}, 0}) {
          Watcher watcher(fabric);
          Reading reading;
          require(eventually([&] {
                    require_status(watcher.read({1}, reading), Status::kDone);
                    return figure(watcher, {1}, "mine", reading) == 21u;
                  }),
                  "the sum of both workers");
        }
        self.barrier();
        mine += 100;
      }
      // What was counted last is not lost.
      self.barrier();
      require_equal(board.counter("mine").value(), 221u, "the sum at the end");
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}
