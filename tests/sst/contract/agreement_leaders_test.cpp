// SPDX-License-Identifier: MIT
// Leaders die: the survivors decide the same, or say that they cannot.
#include <cstring>

#include "dsfabric/support/killed_job.hpp"
#include "dtutils/wait.hpp"
#include "sst/support/agreement_job.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using namespace sst;
using support::AgreeingNode;
using support::ForkJob;
using support::Member;
using support::require_equal;

namespace {

/// Decisions that a member leaves behind.
constexpr std::size_t kKept = 4000;

/// Decides without end until the first two members are dead, and for 50 decisions more.
void decide_past_two_deaths(Member& member, Quorum quorum) {
  enum Word : std::size_t { kReady, kGoal, kFinished };
  auto& words = member.memory.words;
  std::byte* kept = member.memory.processes[member.rank].bytes[0];
  AgreeingNode node(member, quorum, [&](std::uint64_t number, std::uint64_t value) {
    if (number <= kKept) std::memcpy(kept + (number - 1) * 8, &value, 8);
  });
  std::memset(kept, 0, support::kMaxBytes);
  std::uint64_t proposed = 0;
  words[kReady]++;
  node.evaluate_while(
      [&] {
        if (node.agreement.idle()) {
          node.agreement.propose(1000 * (member.rank + 1) + ++proposed);
        }
        if (!node.fabric.failed({0}) || !node.fabric.failed({1})) return true;
        std::uint64_t none = 0;
        words[kGoal].compare_exchange_strong(none, node.decided.size() + 50);
        return node.decided.size() < words[kGoal];
      },
      "survivors go on");
  node.evaluate_until_all(kFinished, member.size - 2, "all survivors have finished");
}

std::uint64_t kept_decision(ForkJob& job, std::uint32_t rank, std::size_t i) {
  std::uint64_t value;
  std::memcpy(&value, job.memory().processes[rank].bytes[0] + i * 8, 8);
  return value;
}

}  // namespace

TEST_CASE("survivors_decide_the_same_when_leaders_die_at_any_moment") {
  const std::uint64_t seed = support::test_seed();
  support::Random random(seed);
  for (int point = 0; point < 12; ++point) {
    const auto moment = std::chrono::microseconds(random.below(4000));
    // Without a majority of the first members, the survivors of four are enough by belief alone.
    const Quorum quorum = point % 2 == 0 ? Quorum::kMajority : Quorum::kSurvivors;
    const std::uint32_t members = quorum == Quorum::kMajority ? 5 : 4;
    CAPTURE(seed, point, members);
    // Members write what they decide into memory that their end leaves behind.
    ForkJob job(members, [quorum](Member& member) { decide_past_two_deaths(member, quorum); });
    CHECK(support::eventually([&] { return job.memory().words[0] == members; }));
    dtutils::sleep_for(moment);
    job.kill(0);
    dtutils::sleep_for(moment);
    job.kill(1);
    CHECK(job.wait() == "0: signal 9\n1: signal 9\n");
    for (std::size_t i = 0; i < kKept && kept_decision(job, 3, i) != 0; ++i) {
      for (std::uint32_t rank = 0; rank < members; ++rank) {
        // The dead may have decided less, never anything else.
        if (kept_decision(job, rank, i) == 0) continue;
        CAPTURE(i, rank);
        REQUIRE(kept_decision(job, rank, i) == kept_decision(job, 3, i));
      }
    }
  }
}

TEST_CASE("survivors_with_different_beliefs_decide_the_same_behind_two_dead_leaders") {
  // Points that members come to, one after the other.
  enum Point : std::size_t { kMade, kProposed, kVoted, kTakesOver, kTookOver, kLooked, kDecided };
  const Quorum quorum = GENERATE(Quorum::kMajority, Quorum::kSurvivors);
  ForkJob job(4, [quorum](Member& member) {
    AgreeingNode node(member, quorum);
    auto& words = member.memory.words;
    support::meet(member, kMade);
    if (member.rank == 0) {  // proposes, and dies
      node.agreement.propose(101);
      node.vote();
      words[kProposed] = 1;
      support::serve_nothing();
    }
    node.await(kProposed, 1);
    if (member.rank == 1) {  // takes over with a wish of its own, and dies
      node.await(kTakesOver, 1);
      node.await_deaths({0});
      node.agreement.propose(102);
      node.agreement.evaluate();
      words[kTookOver] = 1;
      support::serve_nothing();
    }
    node.vote();
    words[kVoted]++;
    if (member.rank == 3) {  // looks again only when both leaders are dead; 2 is off its core then
      node.await_deaths({0, 1});
      node.agreement.evaluate();
      node.agreement.evaluate();
      words[kLooked] = 1;
    } else {
      node.await(kTookOver, 1);
    }
    node.evaluate_while([&] { return node.decided.empty(); }, "a decision");
    member.memory.processes[member.rank].result = node.decided.front();
    node.evaluate_until_all(kDecided, 2, "both");
  });
  auto& words = job.memory().words;
  REQUIRE(support::eventually([&] { return words[kVoted] == 2; }));
  job.kill(0);
  job.stop(2);
  words[kTakesOver] = 1;
  REQUIRE(support::eventually([&] { return words[kTookOver] == 1; }));
  job.kill(1);
  CHECK(support::eventually([&] { return words[kLooked] == 1; }));
  job.resume(2);
  CHECK(job.wait() == "0: signal 9\n1: signal 9\n");
  CHECK(job.memory().processes[2].result == job.memory().processes[3].result);
}

TEST_CASE("who_has_decided_helps_those_who_have_not_and_the_survivors_go_on_or_say_they_cannot") {
  enum Point : std::size_t { kMade, kProposed, kVoted, kOneDecided, kDone };
  const Quorum quorum = GENERATE(Quorum::kMajority, Quorum::kSurvivors);
  ForkJob job(4, [quorum](Member& member) {
    AgreeingNode node(member, quorum);
    auto& words = member.memory.words;
    support::meet(member, kMade);
    if (member.rank == 0) {
      node.agreement.propose(101);
      node.vote();
      words[kProposed] = 1;
      support::serve_nothing();
    }
    node.await(kProposed, 1);
    if (member.rank == 2) {
      node.await(kVoted, 2);
      node.evaluate_while([&] { return node.decided.empty(); }, "a decision of one");
      words[kOneDecided] = 1;
    } else {
      node.vote();
      words[kVoted]++;
      if (member.rank == 1) support::serve_nothing();
      node.await(kOneDecided, 1);
    }
    node.await_deaths({0, 1});
    if (quorum == Quorum::kSurvivors) {
      node.evaluate_while(
          [&] {
            if (node.agreement.idle()) node.agreement.propose(200 + node.decided.size());
            return node.decided.size() < 5;
          },
          "the survivors go on");
    } else {
      node.evaluate_while(
          [&] {
            return node.decided.empty() || node.agreement.state() != AgreementState::kNoQuorum;
          },
          "two of four say that they are no quorum");
      require_equal(node.decided.size(), 1u, "decisions");
    }
    require_equal(node.decided.front(), 101u, "the first decision");
    node.evaluate_until_all(kDone, 2, "both");
  });
  CHECK(support::eventually([&] { return job.memory().words[kOneDecided] == 1; }));
  job.kill(0);
  job.kill(1);
  CHECK(job.wait() == "0: signal 9\n1: signal 9\n");
}
