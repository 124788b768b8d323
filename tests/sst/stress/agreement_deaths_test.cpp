// SPDX-License-Identifier: MIT
// Members are killed, stopped and given up at random steps: agreement, validity and progress hold.
#include <array>
#include <bitset>
#include <optional>
#include <thread>

#include "sst/support/table_job.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using namespace sst;
using support::ForkJob;
using support::Member;
using support::Random;
using support::TableNode;

namespace {

constexpr std::uint32_t kMax = 6;
/// Decisions that a member leaves behind for the checker.
constexpr std::size_t kKept = support::kMaxBytes / 8;
/// Decisions after the last event that count as progress.
constexpr std::uint64_t kProgress = 10;

/// Words of the job's memory, beside those that follow from them.
enum Word : std::size_t { kReady, kOver, kProposed, kGivesUp = kProposed + kMax };
static_assert(kGivesUp + kMax <= 16);

enum class What { kKill, kStop, kGiveUp };
struct Event {
  What what;
  std::uint32_t victim;
  /// The victim's own evaluation in which it happens; 0: at a moment of the parent's choice.
  std::uint64_t step;
  /// kGiveUp: who gives it up while it is stopped.
  std::uint32_t by;
};

struct Plan {
  std::uint32_t members;
  Quorum quorum;
  std::vector<Event> events;
  std::bitset<kMax> killed{};
  std::uint32_t given_up = 0;
};

Plan make_plan(Random& random) {
  Plan plan{static_cast<std::uint32_t>(3 + random.below(4)),
            random.one_in(2) ? Quorum::kMajority : Quorum::kSurvivors,
            {}};
  const std::size_t most = plan.quorum == Quorum::kSurvivors ? plan.members - 1 : plan.members / 2;
  for (std::size_t i = 1 + random.below(4); i != 0; --i) {
    Event event{static_cast<What>(random.below(3)),
                static_cast<std::uint32_t>(random.below(plan.members)),
                random.one_in(2) ? 1 + random.below(400) : 0, 0};
    if (plan.killed[event.victim]) continue;
    // Leaders are what matters most.
    if (random.one_in(2) && !plan.killed[i % 2]) event.victim = i % 2;
    if (event.what == What::kKill) {
      if (plan.killed.count() == most) continue;
      plan.killed.set(event.victim);
    }
    if (event.what == What::kGiveUp) {
      // With kSurvivors nobody who lives is given up: that is what it rests on.
      if (plan.quorum == Quorum::kSurvivors || plan.given_up != 0) continue;
      event.by = (event.victim + 1 + random.below(plan.members - 1)) % plan.members;
      if (plan.killed[event.by]) continue;
      ++plan.given_up;
    }
    plan.events.push_back(event);
  }
  return plan;
}

std::uint64_t packed(std::uint64_t decided, AgreementState state) {
  return decided << 2 | static_cast<std::uint64_t>(state);
}
std::uint64_t decided_in(std::uint64_t result) { return result >> 2; }
AgreementState state_in(std::uint64_t result) { return static_cast<AgreementState>(result & 3); }

/// Decides until it is killed. Values are rank + 1, then 32 bits, which count its proposals.
void live(Member& member, const Plan& plan) {
  TableNode node(member);
  auto& words = member.memory.words;
  support::JobMemory::Process& mine = member.memory.processes[member.rank];
  std::memset(mine.bytes, 0, sizeof mine.bytes);
  std::uint64_t decided = 0;
  Agreement<std::uint64_t> agreement(
      node.group, {},
      [&](std::uint64_t number, const std::uint64_t& value) {
        support::require_equal(number, decided + 1, "number");
        if (decided < kKept) std::memcpy(&mine.bytes[0][0] + decided * 8, &value, 8);
        ++decided;
      },
      plan.quorum);
  words[kReady]++;
  sst::Pace pace(node.fabric);
  for (std::uint64_t step = 1;; ++step) {
    for (const Event& event : plan.events) {
      if (event.victim != member.rank || event.step != step) continue;
      ::kill(getpid(), event.what == What::kKill ? SIGKILL : SIGSTOP);
    }
    if (const std::uint64_t victim = words[kGivesUp + member.rank].exchange(0); victim != 0) {
      node.fabric.fail({static_cast<std::uint16_t>(victim - 1)}, "given up");
    }
    if (agreement.idle() && decided + kProgress < kKept) {
      agreement.propose(std::uint64_t{member.rank + 1} << 32 | words[kProposed + member.rank]++);
    }
    const bool busy = agreement.evaluate();
    mine.result = packed(decided, agreement.state());
    if (words[kOver] != 0) {
      pace.after(busy);
    } else if (!busy) {
      std::this_thread::yield();
    }
  }
}

std::uint64_t entry(ForkJob& job, std::uint32_t rank, std::size_t i) {
  std::uint64_t value;
  std::memcpy(&value, &job.memory().processes[rank].bytes[0][0] + i * 8, 8);
  return value;
}

/// "" or what is wrong with the decisions: agreement and validity.
std::string check_decisions(ForkJob& job, std::uint32_t members) {
  for (std::size_t i = 0; i < kKept; ++i) {
    std::uint64_t decision = 0;
    for (std::uint32_t rank = 0; rank < members; ++rank) {
      const std::uint64_t value = entry(job, rank, i);
      if (value == 0) continue;
      if (decision == 0) decision = value;
      if (value != decision) {
        return fmt::format("decision {} is {:x} and, at {}, {:x}", i + 1, decision, rank, value);
      }
      const std::uint64_t by = (value >> 32) - 1;
      if (by >= members || (value & 0xffffffff) >= job.memory().words[kProposed + by]) {
        return fmt::format("decision {}, {:x}, was not proposed", i + 1, value);
      }
    }
    if (decision == 0) break;
  }
  return "";
}

void make_happen(ForkJob& job, const Plan& plan, Random& random) {
  const auto pass = [&](std::size_t most) {
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(most)));
  };
  for (const Event& event : plan.events) {
    pass(2500);
    if (event.what == What::kKill) {
      if (event.step == 0) job.kill(event.victim);
      continue;
    }
    if (event.step == 0) job.stop(event.victim);
    if (event.what == What::kGiveUp) {
      job.memory().words[kGivesUp + event.by] = event.victim + 1;
    }
    if (random.one_in(2)) pass(4000);
    if (random.one_in(2)) job.resume(event.victim);
  }
  // What is to happen at a step that was not reached yet happens now.
  pass(3000);
  for (std::uint32_t rank = 0; rank < plan.members; ++rank) {
    plan.killed[rank] ? job.kill(rank) : job.resume(rank);
  }
  job.memory().words[kOver] = 1;
}

/// Everybody who lives decides on, or knows that it cannot; and those that must decide do.
std::string check_progress(ForkJob& job, const Plan& plan) {
  const std::size_t living = plan.members - plan.killed.count();
  std::size_t must = 0;
  if (plan.quorum == Quorum::kSurvivors || 2 * (living - plan.given_up) > plan.members) {
    must = living - plan.given_up;
  }
  std::array<std::uint64_t, kMax> before{};
  for (std::uint32_t rank = 0; rank < plan.members; ++rank) {
    before[rank] = decided_in(job.memory().processes[rank].result);
  }
  std::string report;
  const bool well = support::eventually(
      [&] {
        std::size_t progressed = 0, stuck = 0;
        report.clear();
        for (std::uint32_t rank = 0; rank < plan.members; ++rank) {
          if (plan.killed[rank]) continue;
          job.resume(rank);  // it may have stopped at its step only now
          const std::uint64_t now = job.memory().processes[rank].result;
          const bool went_on = decided_in(now) >= std::min<std::uint64_t>(before[rank] + kProgress,
                                                                          kKept - 2 * kProgress);
          progressed += went_on;
          stuck += !went_on && state_in(now) == AgreementState::kWorking;
          report += fmt::format("{}: {} decisions, {} before, state {}\n", rank, decided_in(now),
                                before[rank], static_cast<int>(state_in(now)));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return stuck == 0 && progressed >= must;
      },
      std::chrono::seconds(15));
  return well ? "" : fmt::format("{} must go on\n{}", must, report);
}

}  // namespace

// CARIAMA_STRESS_PERCENT=2000 runs a thousand.
TEST_CASE("members_that_die_stop_or_are_given_up_at_any_step_never_split_or_block_the_others") {
  const std::uint64_t first = support::test_seed();
  const int runs = support::rounds(50);
  for (int run = 0; run < runs; ++run) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(run);
    Random random(seed);
    const Plan plan = make_plan(random);
    const bool majority = plan.quorum == Quorum::kMajority;
    std::string events;
    for (const Event& event : plan.events) {
      events += fmt::format("{} {} at {} by {}; ", static_cast<int>(event.what), event.victim,
                            event.step, event.by);
    }
    CAPTURE(seed, run, plan.members, majority, events);
    ForkJob job(plan.members, [&](Member& member) { live(member, plan); });
    REQUIRE(support::eventually([&] { return job.memory().words[kReady] == plan.members; }));
    make_happen(job, plan, random);
    REQUIRE(check_progress(job, plan) == "");
    for (std::uint32_t rank = 0; rank < plan.members; ++rank) {
      CAPTURE(rank);
      REQUIRE(std::string(job.memory().processes[rank].error) == "");
    }
    REQUIRE(check_decisions(job, plan.members) == "");
  }
}
