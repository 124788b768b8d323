// SPDX-License-Identifier: MIT
// Many watchers of one process, and boards whose names died with the process that kept them.
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../support/one_worker.hpp"
#include "dsfabric/support/fork_job.hpp"
#include "monitoring/monitoring.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace monitoring;
using namespace support;

namespace {

Reading read_of(Watcher& watcher, dsfabric::ProcessId process) {
  Reading reading;
  const Status status = watcher.read(process, reading);
  require(status == Status::kDone, to_string(status));
  return reading;
}

}  // namespace

TEST_CASE("thirty_two_watchers_read_one_process_and_all_see_the_truth") {
  constexpr std::uint32_t kProcesses = 9, kEach = 4, kReads = 500;
  ForkJob job(kProcesses, [](Member& member) {
    dsfabric::Fabric fabric = member.join(one_worker());
    auto& ended = member.memory.words[1];
    if (member.rank == 0) {
      Board board(fabric);
      Counter first = board.counter("first"), second = board.counter("second");
      meet(member, fabric, 0);
      while (ended.load() < (kProcesses - 1) * kEach) {
        first.add();
        second.add();
      }
      member.memory.words[2] = first.value();
      meet(member, fabric, 3);
      meet(member, fabric, 4);
      return;
    }
    meet(member, fabric, 0);
    const auto watch = [&] {
      Watcher watcher(fabric);
      std::uint64_t last = 0;
      for (std::uint32_t i = 0; i < kReads; ++i) {
        const Reading reading = read_of(watcher, {0});
        require_equal(reading.count, 2u, "counters");
        require(reading.values[0] >= last, "a total only grows");
        last = reading.values[0];
      }
      require(watcher.counters({0}, 2).at(1).name == "second", "a name");
    };
    std::vector<std::string> wrong(kEach);
    std::vector<std::thread> threads;
    for (std::string& each : wrong) {
      threads.emplace_back([&] {
        try {
          watch();
        } catch (const std::exception& error) {
          each = error.what();
        }
        ++ended;
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& each : wrong) require(each.empty(), each);
    meet(member, fabric, 3);
    Watcher watcher(fabric);
    const Reading reading = read_of(watcher, {0});
    require_equal(reading.values[0], member.memory.words[2].load(), "the last number");
    require_equal(reading.values[1], reading.values[0], "both");
    meet(member, fabric, 4);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_board_is_found_whoever_has_died_before_it_was_looked_for") {
  // Whichever processes keep the names of the boards, some are among those that die.
  constexpr std::uint32_t kProcesses = 8, kKilled = 4;
  ForkJob job(kProcesses, [](Member& member) {
    dsfabric::Fabric fabric = member.join(one_worker());
    std::optional<Board> board;
    if (member.rank != 1) {
      board.emplace(fabric);
      board->counter("rank").set(member.rank);
    }
    meet(member, fabric, 0);
    if (member.rank >= kProcesses - kKilled) {
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    member.memory.words[1]++;
    require(eventually([&] {
              fabric.progress();
              for (std::uint16_t i = kProcesses - kKilled; i < kProcesses; ++i) {
                if (fabric.state({i}) == dsfabric::PeerState::kActive) return false;
              }
              return true;
            }),
            "the deaths are noticed");
    Watcher watcher(fabric);
    for (std::uint16_t i = 0; i < kProcesses; ++i) {
      Reading reading;
      const Status status = watcher.read({i}, reading);
      const Status wanted = i >= kProcesses - kKilled ? Status::kGone
                            : i == 1                  ? Status::kNoBoard
                                                      : Status::kDone;
      require(status == wanted, std::to_string(i) + ": " + to_string(status));
      if (status == Status::kDone) require_equal(reading.values[0], i, "rank");
    }
    member.memory.words[2]++;
    require(eventually([&] {
              fabric.progress();
              return member.memory.words[2] == kProcesses - kKilled;
            }),
            "the end");
  });
  REQUIRE(eventually([&] { return job.memory().words[1] == kProcesses - kKilled; }));
  for (std::uint32_t i = kProcesses - kKilled; i < kProcesses; ++i) job.kill(i);
  const std::string end = job.wait();
  INFO(end);
  for (std::uint32_t i = 0; i < kProcesses - kKilled; ++i) {
    CHECK(end.find(std::to_string(i) + ": ") == std::string::npos);
  }
}
