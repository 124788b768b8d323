// SPDX-License-Identifier: MIT
// Views: who wants to take part and lives; what becomes of who is removed.
#include "sst/membership.hpp"

#include <fmt/format.h>

#include "sst/support/agreement_job.hpp"
#include "support/catch.hpp"

using namespace sst;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;
using support::TableNode;

namespace {

/// Who is removed though it lives.
constexpr dsfabric::ProcessId kSleeper{3};

struct WorkRow {
  std::uint64_t view;
  std::uint64_t count;
};

/// A process that makes a table for each view that it takes part in.
struct ViewNode : TableNode {
  explicit ViewNode(Member& job_member)
      : TableNode(job_member),
        member(job_member),
        membership(group, [this](const View& view) { make(view); }) {}

  void make(const View& view) {
    before = std::move(table);
    if (!MemberSet(view.members).contains(fabric.process())) return;
    try {
      table = std::make_unique<Table<WorkRow>>(
          group, TableOptions{.members = view.members, .name = "work"}, WorkRow{view.number, 0});
    } catch (const dsfabric::PeerFailed&) {
      // The next view follows.
    }
  }
  void evaluate_while(const std::function<bool()>& more, const std::string& what) {
    support::evaluate_while(fabric, membership, more, what);
  }
  /// Comes to a view of so many, which all of them work in.
  void until(std::size_t size, const char* what) {
    evaluate_while([&] { return membership.view().members.size() != size || !table; }, what);
    require_equal(table->size(), size, "members of the table");
    require_equal(table->min(&WorkRow::view), membership.view().number, "rows of this view");
  }
  /// Counts up a word of the job's memory, and evaluates until `members` have come to it.
  void meet(std::size_t word, std::uint64_t members) {
    member.memory.words[word]++;
    evaluate_while([&] { return member.memory.words[word] < members; },
                   fmt::format("all come to point {}", word));
  }

  Member& member;
  std::unique_ptr<Table<WorkRow>> table, before;
  Membership membership;
};

}  // namespace

TEST_CASE("views_follow_who_wants_to_take_part_and_who_lives") {
  enum Point : std::size_t { kThree, kFour, kFinished };
  ForkJob job(4, [](Member& member) {
    ViewNode node(member);
    // The first three take part; then the fourth; then one of them dies.
    if (member.rank < 3) {
      node.membership.take_part(true);
      node.until(3, "a view of three");
      member.memory.words[kThree]++;
    } else {
      node.evaluate_while([&] { return member.memory.words[kThree] < 3; }, "three work");
      node.membership.take_part(true);
    }
    node.until(4, "a view of four");
    node.meet(kFour, 4);
    if (member.rank == 1) member.die();
    node.until(3, "a view of the survivors");
    require(!MemberSet(node.membership.view().members).contains({1}), "without the dead");
    node.meet(kFinished, 3);
  });
  CHECK(job.wait() == "1: signal 9\n");
}

TEST_CASE("a_process_that_was_removed_and_wakes_is_told_and_writes_into_no_row_any_more") {
  enum Point : std::size_t { kWorking, kAsleep, kWentOn, kAwake, kLooked };
  ForkJob job(4, [](Member& member) {
    ViewNode node(member);
    auto& words = member.memory.words;
    node.membership.take_part(true);
    node.until(4, "a view of all");
    node.table->set(&WorkRow::count, 10 + member.rank);
    node.evaluate_while([&] { return node.table->min(&WorkRow::count) < 10; }, "all work");
    node.meet(kWorking, 4);
    if (node.fabric.process() == kSleeper) {
      require(support::eventually([&] { return words[kWentOn] == 3; }), "it slept");
      // It believes as yet that all is well.
      const View last = node.membership.view();
      for (std::uint64_t i = 1000; i < 1100; ++i) node.table->set(&WorkRow::count, i);
      node.membership.take_part(true);
      for (std::uint16_t i = 0; i < 3; ++i) {
        (void)node.group.transmitter({i}).flush(std::chrono::seconds(1));
      }
      node.evaluate_while([&] { return node.membership.state() == AgreementState::kWorking; },
                          "it is told");
      node.table->push();
      require_equal(node.membership.view().number, last.number, "its last view");
      node.meet(kAwake, 1);
      return;
    }
    node.evaluate_while([&] { return words[kAsleep] == 0; }, "3 sleeps");
    if (member.rank == 1) node.fabric.fail(kSleeper, "it does not answer");
    node.until(3, "a view without it");
    require(!node.table->find(kSleeper), "it is in no new table");
    const MemberId row = *node.before->find(kSleeper);
    require_equal(node.before->get(row, &WorkRow::count), 13u, "what it wrote before");
    node.table->set(&WorkRow::count, 20);
    node.evaluate_while([&] { return node.table->min(&WorkRow::count) < 20; }, "the others work");
    node.meet(kWentOn, 3);
    node.evaluate_while([&] { return words[kAwake] == 0; }, "it has been told");
    require_equal(node.before->get(row, &WorkRow::count), 13u, "what it wrote, after it woke");
    require_equal(node.membership.view().members.size(), 3u, "members of the view");
    support::require_of(node.fabric, node.membership,
                        node.membership.state() == AgreementState::kWorking, "the others work");
    node.meet(kLooked, 3);
  });
  REQUIRE(support::eventually([&] { return job.memory().words[kWorking] == 4; }));
  job.stop(3);
  job.memory().words[kAsleep] = 1;
  REQUIRE(support::eventually([&] { return job.memory().words[kWentOn] == 3; }));
  job.resume(3);
  CHECK(job.wait() == "");
}
