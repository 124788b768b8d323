// SPDX-License-Identifier: MIT
// Members are killed at random moments and steps, others leave and join: histories agree.
#include <atomic>
#include <bit>
#include <cstdlib>
#include <optional>
#include <thread>

#include "groups/support/ordered_job.hpp"
#include "groups/support/read_check.hpp"
#include "support/catch.hpp"

using groups::GroupState;
using support::ForkJob;
using support::Histories;
using support::Member;
using support::OrderedNode;
using support::Random;
using support::require;

namespace {

/// Words of the job's memory. Sets of processes are bits.
enum Word : std::size_t { kReady, kOver, kDead, kFinished, kLost, kMembers, kDelivered };

struct Plan {
  std::uint32_t processes = 0;
  std::uint64_t members = 0;
  /// Bytes of a state.
  std::size_t ballast = 0;
  /// By process: what it does.
  struct Deed {
    /// It dies in its own so many-th round of progress; 0: it does not.
    std::uint64_t dies = 0;
    /// It dies in so many-th round in which its view changes; 0: it does not.
    std::uint64_t dies_changing = 0;
    /// The test kills it after so many microseconds; 0: it does not.
    std::uint64_t killed = 0;
    bool comes_and_goes = false;
  };
  std::vector<Deed> deeds;
};

Plan make_plan(Random& random) {
  Plan plan;
  plan.processes = static_cast<std::uint32_t>(3 + random.below(4));
  plan.ballast = random.one_in(3) ? 200'000 : 0;
  plan.deeds.resize(plan.processes);
  for (std::uint32_t i = 0; i < plan.processes; ++i) {
    if (i < 3 || random.one_in(2)) plan.members |= std::uint64_t{1} << i;
  }
  std::size_t deaths = random.below(plan.processes / 2 + 1);
  while (deaths-- != 0) {
    Plan::Deed& deed =
        plan.deeds[random.one_in(2) ? random.below(2) : random.below(plan.processes)];
    switch (random.below(3)) {
      case 0:
        deed.dies = 1 + random.size_up_to(2000);
        break;
      case 1:
        deed.dies_changing = random.size_up_to(40);
        break;
      default:
        deed.killed = random.size_up_to(30'000);
    }
  }
  for (Plan::Deed& deed : plan.deeds) deed.comes_and_goes = random.one_in(3);
  return plan;
}

void set(const Member& member, Word word) {
  member.memory.words[word] |= std::uint64_t{1} << member.rank;
}

/// Tells the others whether this process is a member, and could let a newcomer in.
void tell_membership(OrderedNode& node) {
  const std::uint64_t self = std::uint64_t{1} << node.member.rank;
  const GroupState state = node.ordered.state();
  const bool member = state != GroupState::kOutside && state != GroupState::kJoining;
  std::atomic<std::uint64_t>& members = node.member.memory.words[kMembers];
  member ? members |= self : members &= ~self;
}

/// Whether this process has nothing more to wait for, once no more is killed.
bool is_done(OrderedNode& node, std::uint32_t& lost_rounds) {
  const auto& words = node.member.memory.words;
  switch (node.ordered.state()) {
    case GroupState::kOutside:
      return true;
    case GroupState::kWorking:
      return node.ordered.undelivered() == 0;
    case GroupState::kMajorityLost:
    case GroupState::kRemoved:
      if (++lost_rounds < 200) return false;
      set(node.member, kLost);
      return true;
    case GroupState::kJoining:
      if (words[kLost] != 0) return true;
      // All members have died: nobody is left to let it in.
      if ((words[kMembers] & ~words[kDead]) == 0) return ++lost_rounds >= 200;
      break;
    case GroupState::kChanging:
      break;
  }
  lost_rounds = 0;
  return false;
}

void live(Member& member, const Plan& plan, const Histories& histories, std::uint64_t seed) {
  const Plan::Deed& deed = plan.deeds[member.rank];
  Random random(seed + member.rank);
  groups::GroupOptions options{.max_message = 24, .slots = 8};
  for (std::uint16_t i = 0; i < plan.processes; ++i) {
    if ((plan.members >> i & 1) != 0) options.members.push_back({i});
  }
  OrderedNode node(member, histories, options, plan.ballast);
  support::ReadCheck reads(member.memory.words[kDelivered]);
  node.meet(kReady, member.size);
  const auto perish = [&] {
    set(member, kDead);
    member.die();
  };
  std::uint64_t rounds = 0;
  std::uint64_t changing = 0;
  std::uint32_t lost_rounds = 0;
  const auto end = std::chrono::steady_clock::now() + support::kPatience;
  const auto over = [&] {
    const auto& words = member.memory.words;
    return std::popcount(words[kDead] | words[kFinished]) == static_cast<int>(member.size);
  };
  while (!over()) {
    const bool running = member.memory.words[kOver] == 0;
    if (running && random.one_in(2))
      (void)node.try_send(static_cast<std::uint32_t>(8 + random.below(17)));
    if (running && node.ordered.state() == GroupState::kOutside && random.one_in(50)) {
      node.ordered.join();
    }
    // Those below 3 stay, so that somebody is there.
    if (running && deed.comes_and_goes && member.rank >= 3 && random.one_in(500)) {
      node.ordered.leave();
    }
    node.step();
    reads.step(node.ordered);
    tell_membership(node);
    if (++rounds == deed.dies && running) perish();
    if (node.ordered.state() == GroupState::kChanging && ++changing == deed.dies_changing &&
        running) {
      perish();
    }
    if (!running && is_done(node, lost_rounds)) set(member, kFinished);
    if (std::chrono::steady_clock::now() > end) support::fail(node.ordered.describe());
  }
}

}  // namespace

TEST_CASE("histories_agree_whoever_dies_leaves_and_joins_and_when") {
  const std::uint64_t first = support::test_seed();
  const int rounds = support::rounds(150);
  const bool chosen = std::getenv("CARIAMA_SHM_ADVERSARY") != nullptr;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(round);
    INFO("CARIAMA_TEST_SEED=" << seed);
    // In every other round writes to different members take their time, so that a death leaves more
    // at some than at others.
    if (!chosen && seed % 2 == 0) unsetenv("CARIAMA_SHM_ADVERSARY");
    if (!chosen && seed % 2 == 1) setenv("CARIAMA_SHM_ADVERSARY", std::to_string(seed).c_str(), 1);
    Random random(seed);
    const Plan plan = make_plan(random);
    const Histories histories;
    ForkJob job(plan.processes, [&](Member& member) { live(member, plan, histories, 31 * seed); });
    auto& words = job.memory().words;
    if (!support::eventually([&] { return words[kReady] == plan.processes; })) {
      FAIL(job.wait(std::chrono::seconds(1)));
    }
    const auto begin = std::chrono::steady_clock::now();
    const auto length = std::chrono::milliseconds(40);
    std::uint64_t killed = 0;
    while (std::chrono::steady_clock::now() < begin + length) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      const auto passed = std::chrono::steady_clock::now() - begin;
      for (std::uint32_t i = 0; i < plan.processes; ++i) {
        const std::uint64_t when = plan.deeds[i].killed;
        if (when == 0 || (killed >> i & 1) != 0 || passed < std::chrono::microseconds(when))
          continue;
        killed |= std::uint64_t{1} << i;
        job.kill(i);
        words[kDead] |= std::uint64_t{1} << i;
      }
    }
    words[kOver] = 1;
    const std::string ends = job.wait();
    std::string expected;
    for (std::uint32_t i = 0; i < plan.processes; ++i) {
      if ((words[kDead] >> i & 1) != 0) expected += std::to_string(i) + ": signal 9\n";
    }
    REQUIRE(ends == expected);
    REQUIRE(histories.check(plan.processes) == "");
  }
}
