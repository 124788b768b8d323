// SPDX-License-Identifier: MIT
// A member that lives is given up: the others go on, and it learns that it is out.
#include "sst/support/agreement_job.hpp"
#include "support/catch.hpp"

using namespace sst;
using support::AgreeingNode;
using support::ForkJob;
using support::Member;
using support::require;

TEST_CASE("a_member_that_was_given_up_and_wakes_learns_that_it_is_out") {
  enum Point : std::size_t { kMade, kAsleep, kWentOn, kAwake };
  ForkJob job(4, [](Member& member) {
    AgreeingNode node(member, Quorum::kMajority, [](std::uint64_t, std::uint64_t by) {
      require(by != 3, "what the removed one proposes counts no more");
    });
    auto& words = member.memory.words;
    support::meet(member, kMade);
    if (member.rank == 3) {
      node.await(kWentOn, 3);
      node.evaluate_while(
          [&] {
            node.agreement.propose(3);
            return node.agreement.state() == AgreementState::kWorking;
          },
          "it is told");
      require(!node.agreement.leads(), "it leads nobody");
      words[kAwake] = 1;
      return;
    }
    node.await(kAsleep, 1);
    // One member alone has had enough of it.
    if (member.rank == 1) node.fabric.fail({3}, "it does not answer");
    node.evaluate_while(
        [&] {
          if (node.agreement.idle()) node.agreement.propose(member.rank);
          return node.agreement.includes({3}) || node.decided.size() < 5;
        },
        "the others remove it and go on");
    const auto holds = [&](bool condition, const char* what) {
      support::require_of(node.fabric, node.agreement, condition, what);
    };
    holds(node.group.cut_off({3}), "it is cut off");
    // Nobody has left as yet: who leaves takes part no more.
    holds(node.agreement.state() == AgreementState::kWorking, "they work");
    node.evaluate_until_all(kWentOn, 3, "all three work");
    node.evaluate_while([&] { return words[kAwake] == 0; }, "3 has been told");
  });
  REQUIRE(support::eventually([&] { return job.memory().words[kMade] == 4; }));
  job.stop(3);
  job.memory().words[kAsleep] = 1;
  REQUIRE(support::eventually([&] { return job.memory().words[kWentOn] == 3; }));
  job.resume(3);
  CHECK(job.wait() == "");
}
