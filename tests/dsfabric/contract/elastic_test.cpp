// SPDX-License-Identifier: MIT
// A job that grows and shrinks: who is there, who hears of it, and what newcomers may do.
#include <algorithm>
#include <string>
#include <vector>

#include "dsfabric/support/elastic_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"
#include "support/skip.hpp"

using namespace dsfabric;
using support::ElasticForkJob;
using support::ElasticMemory;
using support::error_text;
using support::event_of;
using support::Heard;
using support::note_events;
using support::require;
using support::require_equal;
using support::serve_while;
using namespace std::chrono_literals;

namespace {

constexpr const char* kRealLauncher = "newcomers come through the sockets of a launcher.";

/// Of ElasticMemory::words.
struct ElasticWord {
  static constexpr std::size_t kEnd = 0, kStarted = 1, kMayLeave = 2, kAnswers = 3;
};

bool has_heard(ElasticMemory& memory, std::uint32_t process, std::vector<std::uint32_t> events) {
  if (memory.event_counts[process].load(std::memory_order_acquire) != events.size()) return false;
  return std::equal(events.begin(), events.end(), memory.events[process]);
}

std::uint64_t number_of(Thread& self, ThreadId to) {
  SendChannel calls(self.fabric());
  return calls
      .call_return(
          to, [](CallContext& call) -> std::uint64_t { return call.fabric.process().value + 100u; })
      .get();
}

void end_all(ElasticForkJob& job) {
  job.memory().words[ElasticWord::kEnd] = 1;
  for (std::size_t i = 0; i < job.started(); ++i) CHECK(job.wait(i) == "");
}

}  // namespace

TEST_CASE("newcomer_calls_is_called_and_leaves_and_all_hear_of_it") {
  if (support::skipped_on_sim(kRealLauncher)) return;
  ElasticForkJob job(2, 5, [](Fabric& fabric, ElasticMemory& memory) {
    require(fabric.founders() == 2 && fabric.capacity() == 5, "the job is elastic");
    require_equal(fabric.config().elastic, 5u, "setting elastic");
    note_events(fabric, memory);
    fabric.run([&](Thread& self) {
      ++memory.words[ElasticWord::kStarted];
      serve_while(self, [&] { return fabric.processes() < 3; });
      require(fabric.exists({{2}, 0}) && !fabric.exists({{2}, 1}), "it has one worker");
      require_equal(fabric.info({2}).threads, 1u, "workers of the newcomer");
      require(fabric.info({2}).machine == fabric.info({0}).machine, "it is on this machine");
      require_equal(fabric.total_threads(), 2u, "workers of the founders");
      require_equal(number_of(self, {{2}, 0}), 102u, "answer of the newcomer");
      ++memory.words[ElasticWord::kAnswers];
      serve_while(self, [&] { return memory.words[ElasticWord::kEnd] == 0; });
    });
  });
  job.add([](Fabric& fabric, ElasticMemory& memory) {
    require_equal(fabric.process().value, 2, "number of the newcomer");
    require_equal(fabric.processes(), 3u, "processes that it knows");
    note_events(fabric, memory);
    fabric.run([&](Thread& self) {
      for (const std::uint16_t founder : {std::uint16_t{0}, std::uint16_t{1}}) {
        require_equal(number_of(self, {{founder}, 0}), founder + 100u, "answer of a founder");
      }
      serve_while(self, [&] { return memory.words[ElasticWord::kAnswers] < 2; });
    });
  });
  CHECK(job.wait(2) == "");
  for (const std::uint32_t founder : {0, 1}) {
    CHECK(support::eventually([&] {
      return has_heard(job.memory(), founder,
                       {event_of(Heard::kJoin, 2), event_of(Heard::kLeave, 2)});
    }));
  }
  end_all(job);
  CHECK(job.memory().event_counts[2] == 0);
}

TEST_CASE("death_of_a_newcomer_fails_what_waits_for_it_and_is_told_after_its_coming") {
  if (support::skipped_on_sim(kRealLauncher)) return;
  ElasticForkJob job(2, 4, [](Fabric& fabric, ElasticMemory& memory) {
    note_events(fabric, memory);
    fabric.run([&](Thread& self) {
      // It may start before this process has heard of it.
      serve_while(
          self, [&] { return memory.words[ElasticWord::kStarted] == 0 || fabric.processes() < 3; });
      SendChannel calls(fabric);
      // It never answers.
      const std::string text = error_text([&] {
        calls.call_return({{2}, 0}, [] { return 1; }).get();
      });
      require(text.find("process 2") != std::string::npos, text);
      require(calls.call({{2}, 0}, [] {}) == CallStatus::kPeerGone, "later calls are refused");
      ++memory.words[ElasticWord::kAnswers];
      // Collectives of the founders go on.
      require_equal(self.all_reduce(1), 2, "sum over the founders");
      serve_while(self, [&] { return memory.words[ElasticWord::kEnd] == 0; });
    });
  });
  job.add([](Fabric& fabric, ElasticMemory& memory) {
    fabric.run([&](Thread&) {
      ++memory.words[ElasticWord::kStarted];
      dtutils::sleep_for(1h);
    });
  });
  REQUIRE(support::eventually([&] { return job.memory().words[ElasticWord::kStarted] == 1; }));
  dtutils::sleep_for(50ms);
  job.kill(2);
  for (const std::uint32_t founder : {0, 1}) {
    CHECK(support::eventually([&] {
      return has_heard(job.memory(), founder,
                       {event_of(Heard::kJoin, 2), event_of(Heard::kFailure, 2)});
    }));
  }
  job.memory().words[ElasticWord::kEnd] = 1;
  CHECK(job.wait(0) == "");
  CHECK(job.wait(1) == "");
  CHECK(job.wait(2) == "killed");
  CHECK(job.memory().words[ElasticWord::kAnswers] == 2);
}

TEST_CASE("newcomer_is_told_to_make_a_group_where_it_comes_to_a_collective_of_the_job") {
  if (support::skipped_on_sim(kRealLauncher)) return;
  const auto in_a_group = [](Thread& self) {
    Group group(self, {{{0}, 0}, {{2}, 0}});
    group.barrier();
    require_equal(group.all_reduce(int{self.id().process.value} + 1), 4, "sum over the group");
    wait_for_termination(group);
    ExecutionSlots executed(self.fabric());
    SendChannel calls(self.fabric());
    if (group.rank() == 1)
      require(calls.broadcast(
                  group, [] {}, &executed),
              "broadcast");
    if (group.rank() == 1) executed.wait();
    group.barrier();
  };
  ElasticForkJob job(2, 3, [&](Fabric& fabric, ElasticMemory& memory) {
    fabric.run([&](Thread& self) {
      serve_while(self, [&] { return fabric.processes() < 3; });
      if (fabric.process().value == 0) in_a_group(self);
      self.barrier();
      serve_while(self, [&] { return memory.words[ElasticWord::kEnd] == 0; });
    });
  });
  job.add([&](Fabric& fabric, ElasticMemory&) {
    const auto refused = [](const std::string& text) {
      require(text.find("has come later") != std::string::npos &&
                  text.find("make a Group") != std::string::npos,
              text);
    };
    refused(error_text([&] { fabric.exchange({}); }));
    fabric.publish("name", {});
    require(fabric.lookup("name").has_value(), "names are for all");
    fabric.run([&](Thread& self) {
      refused(error_text([&] { self.barrier(); }));
      refused(error_text([&] { self.all_gather(1); }));
      refused(error_text([&] { wait_for_termination(self); }));
      SendChannel calls(fabric);
      refused(error_text([&] { (void)calls.broadcast([] {}); }));
      in_a_group(self);
    });
  });
  CHECK(job.wait(2) == "");
  end_all(job);
}

TEST_CASE("founder_may_leave_and_others_go_on_without_it") {
  if (support::skipped_on_sim(kRealLauncher)) return;
  ElasticForkJob job(3, 4, [](Fabric& fabric, ElasticMemory& memory) {
    note_events(fabric, memory);
    fabric.run([&](Thread& self) {
      self.barrier();
      if (fabric.process().value == 1) return;
      serve_while(self, [&] { return fabric.state({1}) != PeerState::kLeft; });
      SendChannel calls(fabric);
      require(calls.call({{1}, 0}, [] {}) == CallStatus::kPeerGone, "it is gone");
      serve_while(self, [&] { return memory.words[ElasticWord::kEnd] == 0; });
    });
  });
  CHECK(job.wait(1) == "");
  // Others come nevertheless, and know that it has left.
  job.add([](Fabric& fabric, ElasticMemory&) {
    require(fabric.state({1}) == PeerState::kLeft, "it had left before");
    fabric.run([&](Thread& self) { require_equal(number_of(self, {{2}, 0}), 102u, "an answer"); });
  });
  CHECK(job.wait(3) == "");
  for (const std::uint32_t founder : {0, 2}) {
    CHECK(support::eventually([&] {
      return has_heard(
          job.memory(), founder,
          {event_of(Heard::kLeave, 1), event_of(Heard::kJoin, 3), event_of(Heard::kLeave, 3)});
    }));
  }
  end_all(job);
}

TEST_CASE("accused_process_is_given_up_by_all_and_hears_of_it") {
  if (support::skipped_on_sim(kRealLauncher)) return;
  ElasticForkJob job(3, 4, [](Fabric& fabric, ElasticMemory& memory) {
    note_events(fabric, memory);
    if (fabric.process().value != 1) {
      fabric.run([&](Thread& self) {
        ++memory.words[ElasticWord::kStarted];
        if (fabric.process().value == 0) {
          serve_while(self, [&] { return memory.words[ElasticWord::kStarted] < 3; });
          fabric.fail({1}, "of an accusation");
        }
        serve_while(self, [&] { return !fabric.failed({1}); });
        serve_while(self, [&] { return memory.words[ElasticWord::kEnd] == 0; });
      });
      return;
    }
    const std::string text = error_text([&] {
      fabric.run([&](Thread& self) {
        ++memory.words[ElasticWord::kStarted];
        serve_while(self, [&] { return !fabric.failed({1}); });
      });
    });
    require(text.find("of an accusation") != std::string::npos, text);
  });
  CHECK(job.wait(1) == "");
  for (const std::uint32_t founder : {0, 2}) {
    CHECK(support::eventually(
        [&] { return has_heard(job.memory(), founder, {event_of(Heard::kFailure, 1)}); }));
  }
  end_all(job);
}

TEST_CASE("newcomer_that_was_given_up_while_it_was_stopped_wakes_up_and_counts_no_more") {
  if (support::skipped_on_sim(kRealLauncher)) return;
  ElasticForkJob job(2, 4, [](Fabric& fabric, ElasticMemory& memory) {
    note_events(fabric, memory);
    fabric.run([&](Thread& self) {
      serve_while(self, [&] { return memory.words[ElasticWord::kMayLeave] == 0; });
      if (fabric.process().value == 0) fabric.fail({2}, "it is silent");
      serve_while(self, [&] { return !fabric.failed({2}); });
      serve_while(self, [&] { return memory.words[ElasticWord::kEnd] == 0; });
    });
  });
  const std::size_t newcomer = job.add([](Fabric& fabric, ElasticMemory& memory) {
    const std::string text = error_text([&] {
      fabric.run([&](Thread& self) {
        require_equal(number_of(self, {{0}, 0}), 100u, "an answer");
        ++memory.words[ElasticWord::kStarted];
        // It goes on as if nothing had happened, until it hears.
        serve_while(self, [&] {
          SendChannel calls(fabric);
          (void)calls.call({{1}, 0}, [] {});
          return !fabric.failed({2});
        });
      });
    });
    require(text.find("the job has given it up: process 0 says: it is silent") != std::string::npos,
            text);
  });
  REQUIRE(support::eventually([&] { return job.memory().words[ElasticWord::kStarted] == 1; }));
  job.stop(newcomer);
  job.memory().words[ElasticWord::kMayLeave] = 1;
  for (const std::uint32_t founder : {0, 1}) {
    CHECK(support::eventually([&] {
      return has_heard(job.memory(), founder,
                       {event_of(Heard::kJoin, 2), event_of(Heard::kFailure, 2)});
    }));
  }
  job.resume(newcomer);
  end_all(job);
}
