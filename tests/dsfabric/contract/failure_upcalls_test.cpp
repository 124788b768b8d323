// SPDX-License-Identifier: MIT
// Upcalls of failures: each once, with the first reason, until they are removed.
#include <atomic>
#include <memory>
#include <string>

#include "dsfabric/support/fork_job.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

TEST_CASE("a_process_fails_once_however_often_it_is_declared_failed") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    std::atomic<int> upcalls{0};
    fabric.on_failure([&](ProcessId, const std::string&) { ++upcalls; });
    const ProcessId other{static_cast<std::uint16_t>(1 - member.rank)};
    if (member.rank == 0) {
      fabric.fail(other, "first");
      fabric.fail(other, "second");
    }
    require(support::eventually([&] { return upcalls != 0; }), "it is told");
    fabric.fail(other, "third");
    require_equal(fabric.failures(), 1u, "failures");
    require(member.rank == 1 || fabric.failure_reason(other) == "first", "the first reason");
    require_equal(upcalls.load(), 1, "upcalls");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("an_upcall_that_was_removed_is_not_told_of_later_failures") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    std::atomic<int> told{0}, removed{0};
    const auto held = std::make_shared<int>();
    const auto none = [&removed, held](ProcessId, const std::string&) { ++removed; };
    const auto one = [&told](ProcessId, const std::string&) { ++told; };
    const UpcallId first = fabric.on_failure(none);
    const UpcallId kept = fabric.on_failure(one);
    const UpcallId last = fabric.on_failure(none);
    require(first != kept && kept != last && kept != UpcallId{}, "each has a name of its own");
    const long uses = held.use_count();
    for (const UpcallId each : {last, first, first, UpcallId{}}) fabric.remove_upcall(each);
    require_equal(held.use_count(), uses - 2, "what they held is freed");
    fabric.on_failure(one);
    ++member.memory.words[1];
    require(support::eventually([&] { return member.memory.words[1] == 2; }), "both are ready");
    if (member.rank == 0) fabric.fail({1}, "for the test");
    require(support::eventually([&] { return told == 2; }), "the others are told");
    require_equal(removed.load(), 0, "the removed ones are not");
  });
  CHECK(job.wait() == "");
}
