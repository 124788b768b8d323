// SPDX-License-Identifier: MIT
// All members decide the same values in the same order, and whoever has enough leaves.
#include "sst/agreement.hpp"

#include "sst/support/agreement_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using namespace sst;
using support::AgreeingNode;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;
using support::TableNode;

TEST_CASE("what_the_leader_proposes_is_decided_by_all_in_order") {
  ForkJob job(3, [](Member& member) {
    AgreeingNode node(member);
    auto& agreement = node.agreement;
    require(agreement.leads() == (member.rank == 0), "the first one leads");
    std::uint64_t next = 1;
    node.evaluate_while(
        [&] {
          if (agreement.leads() && agreement.idle() && next <= 50) agreement.propose(next++ * 11);
          return node.decided.size() < 50;
        },
        "all is decided");
    for (std::size_t i = 0; i < 50; ++i) require_equal(node.decided[i], (i + 1) * 11, "value");
    node.evaluate_until_all(0, 3, "all have finished");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("members_that_have_enough_leave_the_others_to_decide_and_fail_nobody") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    std::uint64_t decided = 0;
    auto agreement = std::make_unique<Agreement<std::uint64_t>>(
        node.group, TableOptions{}, [&](std::uint64_t, const std::uint64_t&) { ++decided; });
    support::meet(member, 0);
    support::evaluate_while(
        node.fabric, *agreement,
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
    const std::string text = support::error_text([&] {
      Agreement<std::uint64_t>(node.group, {.mode = Mode::kReads},
                               [](std::uint64_t, const std::uint64_t&) {});
    });
    require(text.find("kWrites") != std::string::npos, text);
  });
  CHECK(job.wait() == "");
}
