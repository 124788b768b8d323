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
    Agreement<std::uint64_t> agreement(node.space, {},
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
    CAPTURE(seed, point);
    const auto moment = std::chrono::microseconds(random.below(4000));
    constexpr std::uint32_t kMembers = 4;
    // Members write what they decide into memory that their end leaves behind.
    ForkJob job(kMembers, [](Member& member) {
      TableNode node(member);
      std::byte* decided = member.memory.processes[member.rank].bytes[0];
      std::memset(decided, 0, support::kMostBytes);
      std::uint64_t count = 0, proposed = 0;
      Agreement<std::uint64_t> agreement(node.space, {},
                                         [&](std::uint64_t number, const std::uint64_t& value) {
                                           require_equal(number, count + 1, "number");
                                           if (count < kKept)
                                             std::memcpy(decided + count * 8, &value, 8);
                                           ++count;
                                         });
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
      finish(member, agreement, 2);
    });
    CHECK(support::eventually([&] { return job.memory().words[0] == kMembers; }));
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
      for (std::uint32_t rank = 0; rank < kMembers; ++rank) {
        // The dead may have decided less, never anything else.
        if (decision(rank, i) == 0 || decision(3, i) == 0) continue;
        CAPTURE(i, rank);
        REQUIRE(decision(rank, i) == decision(3, i));
      }
      if (decision(3, i) == 0) break;
    }
  }
}

TEST_CASE("views_follow_who_wants_to_take_part_and_who_lives") {
  struct Row {
    std::uint64_t view;
  };
  ForkJob job(4, [](Member& member) {
    TableNode node(member);
    std::unique_ptr<Table<Row>> table;
    std::vector<View> views;
    Membership membership(node.space, [&](const View& view) {
      views.push_back(view);
      const MemberSet members(view.members);
      if (!members.contains(node.fabric.process())) {
        table.reset();
        return;
      }
      try {
        table = std::make_unique<Table<Row>>(
            node.space, TableOptions{.members = view.members, .name = "work"}, Row{view.number});
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
