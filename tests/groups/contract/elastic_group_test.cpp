// SPDX-License-Identifier: MIT
// Ordered groups in elastic jobs: newcomers become members, and take the places of the dead.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "dsfabric/support/elastic_job.hpp"
#include "groups/support/ordered_job.hpp"
#include "support/catch.hpp"

using dsfabric::Fabric;
using groups::GroupState;
using support::ElasticForkJob;
using support::ElasticMemory;
using support::Histories;
using support::OrderedPart;
using support::require;
using support::require_equal;

namespace {

/// Of ElasticMemory::words.
enum ElasticWord : std::size_t {
  kMembers,
  /// How many processes are expected to be members at the end; before it is set, all go on.
  kExpected,
  kDrained,
  /// By process: messages that it has delivered, while it is a member.
  kDelivered,
};

groups::GroupOptions options_of_group(std::uint32_t max_message = 64) {
  return {.max_message = max_message, .slots = 16};
}

/// Joins if it is a newcomer, and sends and delivers until the test says that it is enough.
void live(Fabric& fabric, ElasticMemory& memory, const Histories& histories, std::size_t ballast,
          std::chrono::milliseconds restoring = {}, std::uint32_t max_message = 64) {
  sst::TableGroup tables{fabric, {.threads = 1}};
  OrderedPart part(tables, memory.words, histories, options_of_group(max_message), ballast);
  const std::uint16_t self = fabric.process().value;
  require_equal(part.ordered.view().id == 0, self >= fabric.founders(), "no view before it joins");
  part.restoring = restoring;
  part.ordered.join();
  support::Random random(self);
  // The test has bounds of its own for each of its steps.
  const auto end = std::chrono::steady_clock::now() + 4 * support::kPatience;
  while (memory.words[kExpected] == 0) {
    for (int i = 0; i < 3; ++i) {
      (void)part.try_send(static_cast<std::uint32_t>(8 + random.below(max_message - 7)));
    }
    part.step();
    memory.words[kMembers] = part.ordered.view().members.size();
    if (part.ordered.state() == GroupState::kWorking) {
      memory.words[kDelivered + self] = part.ordered.next_sequence();
    }
    require(std::chrono::steady_clock::now() < end, part.ordered.describe());
  }
  part.progress_while(
      [&] {
        return part.ordered.view().members.size() != memory.words[kExpected] ||
               part.ordered.undelivered() != 0;
      },
      "all is delivered");
  part.meet(kDrained, memory.words[kExpected]);
  require(part.sent > 0, "it has sent");
}

/// The process has delivered some more messages as a member.
void goes_on(ElasticForkJob& job, std::uint32_t process) {
  const auto& delivered = job.memory().words[kDelivered + process];
  const std::uint64_t before = delivered;
  CHECK(support::eventually([&] { return delivered > before + 100; }));
}

}  // namespace

TEST_CASE("newcomers_take_the_places_of_killed_members_under_traffic") {
  for (const std::size_t ballast : {std::size_t{0}, std::size_t{300'000}}) {
    const Histories histories;
    const auto life = [&](Fabric& fabric, ElasticMemory& memory) {
      live(fabric, memory, histories, ballast);
    };
    ElasticForkJob job(3, 8, life);
    goes_on(job, 0);
    // The second founder, then the first, which leads; then a newcomer that is no founder.
    std::vector<std::uint32_t> members{0, 1, 2};
    for (const std::uint32_t victim : {1u, 0u, 3u}) {
      job.kill(victim);
      std::erase(members, victim);
      const auto newcomer = static_cast<std::uint32_t>(job.add(life));
      members.push_back(newcomer);
      for (const std::uint32_t member : members) goes_on(job, member);
    }
    job.memory().words[kExpected] = 3;
    for (const std::uint32_t member : members) CHECK(job.wait(member) == "");
    CHECK(histories.check(6) == "");
  }
}

TEST_CASE("a_group_grows_beyond_its_founders") {
  const Histories histories;
  const auto life = [&](Fabric& fabric, ElasticMemory& memory) {
    live(fabric, memory, histories, 1000);
  };
  ElasticForkJob job(1, 6, life);
  goes_on(job, 0);
  for (int i = 0; i < 4; ++i) job.add(life);
  CHECK(support::eventually([&] { return job.memory().words[kMembers] == 5; }));
  for (std::uint32_t member = 0; member < 5; ++member) goes_on(job, member);
  job.memory().words[kExpected] = 5;
  for (std::uint32_t member = 0; member < 5; ++member) CHECK(job.wait(member) == "");
  CHECK(histories.check(5) == "");
}

TEST_CASE("newcomer_that_takes_long_to_take_in_the_state_joins_under_traffic") {
  const Histories histories;
  const auto life = [&](Fabric& fabric, ElasticMemory& memory) {
    // Longer than a donor waits for a process that has its state, and lets messages wait for.
    live(fabric, memory, histories, 1000, std::chrono::milliseconds(500), 4000);
  };
  ElasticForkJob job(2, 3, life);
  goes_on(job, 0);
  job.add(life);
  for (const std::uint32_t member : {2u, 0u, 1u}) goes_on(job, member);
  job.memory().words[kExpected] = 3;
  for (const std::uint32_t member : {0u, 1u, 2u}) CHECK(job.wait(member) == "");
  CHECK(histories.check(3) == "");
}

TEST_CASE("newcomer_with_other_options_is_refused_and_the_others_go_on") {
  const Histories histories;
  const auto life = [&](Fabric& fabric, ElasticMemory& memory) {
    live(fabric, memory, histories, 0);
  };
  ElasticForkJob job(2, 4, life);
  goes_on(job, 0);
  const std::size_t other = job.add([&](Fabric& fabric, ElasticMemory& memory) {
    sst::TableGroup tables{fabric};
    groups::GroupOptions options = options_of_group();
    options.max_message = 32;
    OrderedPart part(tables, memory.words, histories, options);
  });
  CHECK(job.wait(other).find("with other options") != std::string::npos);
  for (const std::uint32_t member : {0u, 1u}) goes_on(job, member);
  job.memory().words[kExpected] = 2;
  for (const std::uint32_t member : {0u, 1u}) CHECK(job.wait(member) == "");
  CHECK(histories.check(2) == "");
}

TEST_CASE("stopped_member_that_the_job_has_given_up_finds_itself_removed") {
  const Histories histories;
  ElasticForkJob job(3, 4, [&](Fabric& fabric, ElasticMemory& memory) {
    sst::TableGroup tables{fabric, {.threads = 1}};
    groups::GroupOptions options = options_of_group();
    options.patience = support::kSlowdown * std::chrono::milliseconds(700);
    OrderedPart part(tables, memory.words, histories, options);
    const auto is_removed = [&] { return part.ordered.state() == GroupState::kRemoved; };
    part.progress_while(
        [&] {
          memory.words[kDelivered + fabric.process().value] = part.ordered.next_sequence();
          memory.words[kMembers] = part.ordered.view().members.size();
          return part.try_send() != groups::SendStatus::kNotMember && memory.words[kExpected] == 0;
        },
        "it is removed, or all is over");
    if (fabric.process().value == 2) part.progress_while(std::not_fn(is_removed), "it is told");
  });
  for (const std::uint32_t member : {0u, 1u, 2u}) goes_on(job, member);
  job.stop(2);
  CHECK(support::eventually([&] { return job.memory().words[kMembers] == 2; }));
  job.resume(2);
  CHECK(job.wait(2) == "");
  for (const std::uint32_t member : {0u, 1u}) goes_on(job, member);
  job.memory().words[kExpected] = 1;
  for (const std::uint32_t member : {0u, 1u}) CHECK(job.wait(member) == "");
  CHECK(histories.check(3) == "");
}
