// SPDX-License-Identifier: MIT
// Processes join, leave and are killed at random moments while all call each other.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dsfabric/support/elastic_job.hpp"
#include "dsfabric/support/holdings.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::ElasticForkJob;
using support::ElasticMemory;
using support::eventually;
using support::Heard;
using support::Holdings;
using support::note_events;
using support::require;
using support::require_equal;
using support::serve_while;

namespace {

constexpr std::uint32_t kFounders = 2;
/// Of ElasticMemory::words.
constexpr std::size_t kChurnEnds = 0;
constexpr std::size_t kCameHome = 1;
/// Founders that have counted what they hold, and those that hold as much again.
constexpr std::size_t kCounted = 2;
constexpr std::size_t kHoldAsMuch = 3;

/// Newcomers go after so long, however slow the machine is: one that is still there when
/// ElasticForkJob::wait gives up waits for something that does not come.
constexpr std::chrono::seconds kLongestVisit{5};

/// At the same address in all processes, which are forked.
ElasticMemory* churn_memory = nullptr;

/// One call to whoever seems to be there. It ran once and its value comes home, or it is reported,
/// and ran once or never.
void call_somebody(Thread& self, std::mt19937_64& random, std::uint16_t number) {
  Fabric& fabric = self.fabric();
  const std::uint16_t me = fabric.process().value;
  const ProcessId to{static_cast<std::uint16_t>(random() % fabric.processes())};
  if (to == fabric.process() || !fabric.exists({to, 0})) return;
  SendChannel calls(fabric);
  const auto run = [me, number] { return ++churn_memory->runs[me][number]; };
  try {
    require_equal(calls.call_return({to, 0}, run).get(), 1, "runs of the call");
    ++churn_memory->words[kCameHome];
  } catch (const PeerFailed&) {
    // Reported.
  }
}

void call_all(Thread& self, std::uint64_t seed, std::uint64_t calls,
              std::chrono::nanoseconds limit = std::chrono::nanoseconds::max()) {
  std::mt19937_64 random(seed);
  dtutils::Deadline deadline(limit);
  for (std::uint64_t i = 0; i < calls && churn_memory->words[kChurnEnds] == 0 && !deadline.passed();
       ++i) {
    if (i < ElasticMemory::kCalls) {
      call_somebody(self, random, static_cast<std::uint16_t>(i));
    } else {
      std::this_thread::yield();
    }
    self.progress();
  }
}

void come_and_call(Fabric& fabric, std::uint64_t seed, std::uint64_t calls) {
  note_events(fabric, *churn_memory);
  fabric.run([&](Thread& self) { call_all(self, seed, calls, kLongestVisit); });
}

/// The founders come to the same point.
void meet_founders(Thread& self, std::size_t word, std::uint64_t times = 1) {
  ++churn_memory->words[word];
  serve_while(self, [&] { return churn_memory->words[word] < times * kFounders; });
}

/// It calls whoever comes, and holds no more in the end than before anybody came.
void stay_and_call(Fabric& fabric, std::uint64_t seed) {
  note_events(fabric, *churn_memory);
  fabric.run([&](Thread& self) {
    for (std::uint16_t founder = 0; founder < kFounders; ++founder) {
      SendChannel(fabric).call_return({{founder}, 0}, [] { return 0; }).get();
    }
    meet_founders(self, kCounted);
    const Holdings before(fabric);
    meet_founders(self, kCounted, 2);
    call_all(self, seed, ~std::uint64_t{0});
    std::string now;
    const bool returned = eventually([&] {
      self.progress();
      const Holdings after(fabric);
      now = after.text();
      return after.no_more_than(before);
    });
    require(returned, "in the end there are " + now + ", at first " + before.text());
    meet_founders(self, kHoldAsMuch);
  });
}

std::vector<std::uint32_t> events_of(std::uint32_t process) {
  const std::uint32_t* const first = churn_memory->events[process];
  return {first, first + churn_memory->event_counts[process].load(std::memory_order_acquire)};
}

/// All who came have gone, and the process has heard of it.
bool has_heard_all(std::uint32_t process) {
  const std::vector<std::uint32_t> events = events_of(process);
  const auto joins = std::ranges::count_if(events, [](std::uint32_t event) {
    return event >> 16 == static_cast<std::uint32_t>(Heard::kJoin);
  });
  return events.size() == 2 * static_cast<std::size_t>(joins);
}

/// What a process has heard is what founder 0 has, from its own joining on, without a gap, but for
/// its own end.
bool heard_in_order(std::vector<std::uint32_t> all, std::uint32_t process) {
  const std::vector<std::uint32_t> heard = events_of(process);
  const auto own = std::ranges::find(all, support::event_of(Heard::kJoin, process));
  if (own == all.end()) return heard.empty();
  all.erase(all.begin(), own + 1);
  std::erase_if(all, [process](std::uint32_t event) { return (event & 0xffff) == process; });
  return heard.size() <= all.size() && std::equal(heard.begin(), heard.end(), all.begin());
}

}  // namespace

// 200 processes join, of which about half are killed, unless they have ended by then; with
// CARIAMA_STRESS_PERCENT=200 twice as many.
TEST_CASE("calls_run_once_or_are_reported_while_processes_join_leave_and_are_killed") {
  const std::uint64_t seed = support::test_seed() | 1;
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const char* const percent = std::getenv("CARIAMA_STRESS_PERCENT");
  const std::uint32_t rounds = std::max(1, 2 * (percent != nullptr ? std::atoi(percent) : 100));
  REQUIRE(kFounders + rounds < ElasticMemory::kProcesses);
  // As the device is, or under the adversary.
  if (random() % 2 == 0) setenv("CARIAMA_SHM_ADVERSARY", std::to_string(seed).c_str(), 1);

  ElasticForkJob job(kFounders, kFounders + rounds, [seed](Fabric& fabric, ElasticMemory& memory) {
    churn_memory = &memory;
    stay_and_call(fabric, seed + fabric.process().value);
  });
  churn_memory = &job.memory();
  // Nobody comes before that.
  REQUIRE(eventually([&] { return churn_memory->words[kCounted] == 2 * kFounders; }));
  std::vector<std::size_t> living;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const std::uint64_t its_seed = random();
    const std::uint64_t calls = 1 + random() % 400;
    living.push_back(
        job.add([=](Fabric& fabric, ElasticMemory&) { come_and_call(fabric, its_seed, calls); }));
    if (living.size() < 5 && round + 1 < rounds) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
    const std::size_t at = random() % living.size();
    const bool kills = random() % 2 == 0;
    if (kills) job.kill(living[at]);
    // It may have ended before.
    const std::string end = job.wait(living[at]);
    CHECK((end.empty() || (kills && end == "killed")));
    if (!end.empty() && end != "killed") FAIL_CHECK(end);
    living.erase(living.begin() + static_cast<std::ptrdiff_t>(at));
  }
  for (const std::size_t each : living) CHECK(job.wait(each) == "");
  for (std::uint32_t founder = 0; founder < kFounders; ++founder) {
    CHECK(support::eventually([&] { return has_heard_all(founder); }));
  }
  // Before they leave, which one of them hears of the other.
  const std::vector<std::uint32_t> all = events_of(0);
  CHECK(events_of(1) == all);
  job.memory().words[kChurnEnds] = 1;
  for (std::uint32_t founder = 0; founder < kFounders; ++founder) CHECK(job.wait(founder) == "");
  CHECK(all.size() > rounds / 2);
  for (std::uint32_t process = kFounders; process < kFounders + rounds; ++process) {
    INFO("process " << process);
    CHECK(heard_in_order(all, process));
  }
  CHECK(job.memory().words[kCameHome] > rounds);
  for (const auto& of_caller : job.memory().runs) {
    CHECK(std::ranges::all_of(of_caller, [](const auto& runs) { return runs <= 1; }));
  }
}
