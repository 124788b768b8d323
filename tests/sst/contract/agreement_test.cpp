// SPDX-License-Identifier: MIT
// All members decide the same values in the same order, whoever leads, whoever dies.
#include "sst/agreement.hpp"

#include "sst/membership.hpp"
#include "sst/support/table_job.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using namespace sst;
using dsfabric::ProcessId;
using support::evaluate_until;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;
using support::TableNode;

namespace {

constexpr std::size_t kFinished = 15;
/// Decisions that a member leaves behind.
constexpr std::size_t kKept = 4000;

/// Evaluates on, because others need this member's copies, until all that live have finished.
template <class Target>
void finish(Member& member, Target& target, std::uint32_t members) {
  member.memory.words[kFinished]++;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (member.memory.words[kFinished] < members) {
    target.evaluate();
    std::this_thread::yield();
    require(std::chrono::steady_clock::now() < end, "all have finished");
  }
}

template <class Target>
void evaluate_while(Target& target, const std::function<bool()>& more, const char* what) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (more()) {
    if (!target.evaluate()) std::this_thread::yield();
    require(std::chrono::steady_clock::now() < end, what);
  }
}

}  // namespace

TEST_CASE("what_the_leader_proposes_is_decided_by_all_in_order") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    std::vector<std::uint64_t> decided;
    Agreement<std::uint64_t> agreement(node.group, {},
                                       [&](std::uint64_t number, const std::uint64_t& value) {
                                         require_equal(number, decided.size() + 1, "number");
                                         decided.push_back(value);
                                       });
    require(agreement.leads() == (member.rank == 0), "the first one leads");
    std::uint64_t next = 1;
    evaluate_while(
        agreement,
        [&] {
          if (agreement.leads() && agreement.idle() && next <= 50) agreement.propose(next++ * 11);
          return decided.size() < 50;
        },
        "all is decided");
    for (std::size_t i = 0; i < 50; ++i) require_equal(decided[i], (i + 1) * 11, "value");
    finish(member, agreement, 3);
  });
  CHECK(job.wait() == "");
}

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
    ForkJob job(members, [quorum](Member& member) {
      TableNode node(member);
      std::byte* decided = member.memory.processes[member.rank].bytes[0];
      std::memset(decided, 0, support::kMaxBytes);
      std::uint64_t count = 0, proposed = 0;
      Agreement<std::uint64_t> agreement(
          node.group, {},
          [&](std::uint64_t number, const std::uint64_t& value) {
            require_equal(number, count + 1, "number");
            if (count < kKept) std::memcpy(decided + count * 8, &value, 8);
            ++count;
          },
          quorum);
      member.memory.words[0]++;
      evaluate_while(
          agreement,
          [&] {
            if (agreement.leads() && agreement.idle()) {
              agreement.propose(1000 * (member.rank + 1) + ++proposed);
            }
            const bool last = node.fabric.failed({0}) && node.fabric.failed({1});
            if (last && member.memory.words[1] == 0) member.memory.words[1] = count + 50;
            return !last || count < member.memory.words[1];
          },
          "survivors go on");
      finish(member, agreement, member.size - 2);
    });
    CHECK(support::eventually([&] { return job.memory().words[0] == members; }));
    std::this_thread::sleep_for(moment);
    job.kill(0);
    std::this_thread::sleep_for(moment);
    job.kill(1);
    CHECK(job.wait() == "0: signal 9\n1: signal 9\n");
    const auto decision = [&](std::uint32_t rank, std::size_t i) {
      std::uint64_t value;
      std::memcpy(&value, job.memory().processes[rank].bytes[0] + i * 8, 8);
      return value;
    };
    for (std::size_t i = 0; i < kKept; ++i) {
      for (std::uint32_t rank = 0; rank < members; ++rank) {
        // The dead may have decided less, never anything else.
        if (decision(rank, i) == 0 || decision(3, i) == 0) continue;
        CAPTURE(i, rank);
        REQUIRE(decision(rank, i) == decision(3, i));
      }
      if (decision(3, i) == 0) break;
    }
  }
}

TEST_CASE("survivors_with_different_beliefs_decide_the_same_behind_two_dead_leaders") {
  // Points that members come to, one after the other.
  enum Point : std::size_t { kMade, kProposed, kCopied, kTakesOver, kTookOver, kLooked, kDecided };
  const Quorum quorum = GENERATE(Quorum::kMajority, Quorum::kSurvivors);
  ForkJob job(4, [quorum](Member& member) {
    TableNode node(member);
    auto& words = member.memory.words;
    std::vector<std::uint64_t> decided;
    Agreement<std::uint64_t> agreement(
        node.group, {},
        [&](std::uint64_t, const std::uint64_t& value) { decided.push_back(value); }, quorum);
    support::meet(member, kMade);
    const auto at = [&](Point point, std::uint64_t count) {
      require(support::eventually([&] { return words[point] >= count; }), "a point");
    };
    if (member.rank == 0) {  // proposes, and dies
      agreement.propose(101);
      agreement.evaluate();
      words[kProposed] = 1;
      pause();
    }
    at(kProposed, 1);
    if (member.rank == 1) {  // takes over with a wish of its own, and dies
      at(kTakesOver, 1);
      require(support::eventually([&] { return node.fabric.failed({0}); }), "0 died");
      agreement.propose(102);
      agreement.evaluate();
      words[kTookOver] = 1;
      pause();
    }
    agreement.evaluate();
    words[kCopied]++;
    if (member.rank == 3) {  // looks again only when both leaders are dead; 2 is off its core then
      require(
          support::eventually([&] { return node.fabric.failed({0}) && node.fabric.failed({1}); }),
          "both died");
      agreement.evaluate();
      agreement.evaluate();
      words[kLooked] = 1;
    } else {
      at(kTookOver, 1);
    }
    evaluate_while(
        agreement, [&] { return decided.empty(); }, "a decision");
    member.memory.processes[member.rank].result = decided.front();
    words[kDecided]++;
    evaluate_while(
        agreement, [&] { return words[kDecided] < 2; }, "both");
  });
  auto& words = job.memory().words;
  REQUIRE(support::eventually([&] { return words[kCopied] == 2; }));
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
    TableNode node(member);
    auto& words = member.memory.words;
    std::vector<std::uint64_t> decided;
    Agreement<std::uint64_t> agreement(
        node.group, {},
        [&](std::uint64_t, const std::uint64_t& value) { decided.push_back(value); }, quorum);
    support::meet(member, kMade);
    const auto at = [&](Point point, std::uint64_t count) {
      require(support::eventually([&] { return words[point] >= count; }), "a point");
    };
    if (member.rank == 0) {
      agreement.propose(101);
      agreement.evaluate();
      words[kProposed] = 1;
      pause();
    }
    at(kProposed, 1);
    // The proposal may land after the word that tells of it.
    const auto vote = [&] {
      require(support::eventually([&] { return agreement.evaluate(); }), "a vote");
      words[kVoted]++;
    };
    if (member.rank == 1) {
      vote();
      pause();
    }
    if (member.rank == 3) {
      vote();
      at(kOneDecided, 1);
    }
    if (member.rank == 2) {
      at(kVoted, 2);
      evaluate_while(
          agreement, [&] { return decided.empty(); }, "a decision of one");
      words[kOneDecided] = 1;
    }
    require(support::eventually([&] { return node.fabric.failed({0}) && node.fabric.failed({1}); }),
            "both died");
    if (quorum == Quorum::kSurvivors) {
      evaluate_while(
          agreement,
          [&] {
            if (agreement.idle() && decided.size() < 5) agreement.propose(200 + decided.size());
            return decided.size() < 5;
          },
          "the survivors go on");
    } else {
      evaluate_while(
          agreement,
          [&] { return decided.empty() || agreement.state() != AgreementState::kNoQuorum; },
          "two of four say that they are no quorum");
      require_equal(decided.size(), 1u, "decisions");
    }
    require_equal(decided.front(), 101u, "the first decision");
    words[kDone]++;
    evaluate_while(
        agreement, [&] { return words[kDone] < 2; }, "both");
  });
  CHECK(support::eventually([&] { return job.memory().words[kOneDecided] == 1; }));
  job.kill(0);
  job.kill(1);
  CHECK(job.wait() == "0: signal 9\n1: signal 9\n");
}

TEST_CASE("a_member_that_was_given_up_and_wakes_learns_that_it_is_out") {
  enum Point : std::size_t { kMade, kAsleep, kWentOn, kAwake };
  ForkJob job(4, [](Member& member) {
    TableNode node(member);
    auto& words = member.memory.words;
    std::uint64_t decided = 0;
    Agreement<std::uint64_t> agreement(node.group, {}, [&](std::uint64_t, const std::uint64_t& by) {
      ++decided;
      require(by != 3, "what the removed one proposes counts no more");
    });
    support::meet(member, kMade);
    if (member.rank == 3) {
      require(support::eventually([&] { return words[kWentOn] != 0; }), "it slept");
      evaluate_while(
          agreement,
          [&] {
            agreement.propose(3);
            return agreement.state() == AgreementState::kWorking;
          },
          "it is told");
      require(!agreement.leads(), "it leads nobody");
      words[kAwake] = 1;
      return;
    }
    require(support::eventually([&] { return words[kAsleep] != 0; }), "3 sleeps");
    // One member alone has had enough of it.
    if (member.rank == 1) node.fabric.fail({3}, "it does not answer");
    const std::uint64_t asleep = decided;
    evaluate_while(
        agreement,
        [&] {
          if (agreement.idle()) agreement.propose(member.rank);
          return agreement.includes({3}) || decided < asleep + 5;
        },
        "the others remove it and go on");
    require(node.fabric.failed({3}), "it is cut off");
    require(agreement.state() == AgreementState::kWorking, "they work");
    if (member.rank == 0) words[kWentOn] = 1;
    evaluate_while(
        agreement, [&] { return words[kAwake] == 0; }, "3 has been told");
  });
  REQUIRE(support::eventually([&] { return job.memory().words[kMade] == 4; }));
  job.stop(3);
  job.memory().words[kAsleep] = 1;
  REQUIRE(support::eventually([&] { return job.memory().words[kWentOn] == 1; }));
  job.resume(3);
  CHECK(job.wait() == "");
}

TEST_CASE("members_that_have_enough_leave_the_others_to_decide_and_fail_nobody") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    std::uint64_t decided = 0;
    auto agreement = std::make_unique<Agreement<std::uint64_t>>(
        node.group, TableOptions{}, [&](std::uint64_t, const std::uint64_t&) { ++decided; });
    support::meet(member, 0);
    evaluate_while(
        *agreement,
        [&] {
          if (agreement->idle()) agreement->propose(1);
          // The first one, which leads, has enough first.
          return decided < (member.rank == 0 ? 3u : 6u);
        },
        "its decisions");
    if (member.rank == 1) {
      require(!agreement->includes({0}), "the first one takes part no more");
    }
    agreement.reset();
    support::meet(member, 1);
    require_equal(node.fabric.failures(), 0u, "failures");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("tables_by_reads_are_refused") {
  ForkJob job(1, [](Member& member) {
    TableNode node(member);
    std::string text;
    try {
      Agreement<std::uint64_t> agreement(node.group, {.mode = Mode::kReads},
                                         [](std::uint64_t, const std::uint64_t&) {});
    } catch (const dtutils::Error& error) {
      text = error.what();
    }
    require(text.find("kWrites") != std::string::npos, text);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("views_follow_who_wants_to_take_part_and_who_lives") {
  struct Row {
    std::uint64_t view;
  };
  ForkJob job(4, [](Member& member) {
    TableNode node(member);
    std::unique_ptr<Table<Row>> table;
    std::vector<View> views;
    Membership membership(node.group, [&](const View& view) {
      views.push_back(view);
      const MemberSet members(view.members);
      if (!members.contains(node.fabric.process())) {
        table.reset();
        return;
      }
      try {
        table = std::make_unique<Table<Row>>(
            node.group, TableOptions{.members = view.members, .name = "work"}, Row{view.number});
      } catch (const dsfabric::PeerFailed&) {
        table.reset();  // the next view follows
      }
    });
    const auto until = [&](std::size_t size, const char* what) {
      evaluate_while(
          membership, [&] { return membership.view().members.size() != size || !table; }, what);
      require_equal(table->size(), size, "members of the table");
      require_equal(table->min(&Row::view), membership.view().number, "rows of this view");
    };
    // The first three take part; then the fourth; then one of them dies.
    if (member.rank < 3) {
      membership.take_part(true);
      until(3, "a view of three");
      member.memory.words[0]++;
    } else {
      evaluate_while(
          membership, [&] { return member.memory.words[0] < 3; }, "three work");
      membership.take_part(true);
    }
    until(4, "a view of four");
    member.memory.words[1]++;
    evaluate_while(
        membership, [&] { return member.memory.words[1] < 4; }, "four work");
    if (member.rank == 1) ::kill(getpid(), SIGKILL);
    until(3, "a view of the survivors");
    require(!MemberSet(membership.view().members).contains({1}), "without the dead");
    finish(member, membership, 3);
  });
  CHECK(job.wait() == "1: signal 9\n");
}
