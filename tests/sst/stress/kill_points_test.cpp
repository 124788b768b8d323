// SPDX-License-Identifier: MIT
// SIGKILL of a member in the middle of its pushes: the row freezes, whole in each field.
#include <cstdlib>
#include <thread>

#include "sst/support/table_job.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using namespace sst;
using support::ForkJob;
using support::Member;
using support::require;
using support::TableNode;

namespace {

using Wide6 = std::array<std::uint64_t, 6>;
struct FrozenRow {
  std::uint64_t count;
  Versioned<Wide6> wide;
  std::uint64_t block[40];
};

void push_all(Table<FrozenRow>& table, std::uint64_t round) {
  // More than one value between two pushes, as the owner of a Versioned may store.
  for (std::uint64_t left = round % 4 + 1; left-- > 0;) {
    const std::uint64_t value = round * 4 - left;
    table.store(&FrozenRow::wide, {value, value, value, value, value, value});
  }
  table.push(&FrozenRow::wide);
  for (std::size_t i = 0; i < 40; ++i) table.store(&FrozenRow::block, i, round);
  table.push();
  table.set(&FrozenRow::count, round);
}

}  // namespace

TEST_CASE("a_row_freezes_whole_wherever_its_owner_dies") {
  const std::uint64_t seed = support::test_seed();
  support::Random random(seed);
  for (int point = 0; point < 25; ++point) {
    const auto victim = static_cast<std::uint32_t>(random.below(3));
    const auto moment = std::chrono::microseconds(random.below(10'000));
    CAPTURE(seed, point, victim, moment.count());
    ForkJob job(3, [](Member& member) {
      TableNode node(member);
      Table<FrozenRow> table(node.group);
      std::vector<MemberId> told;
      table.on_failure([&](MemberId failed, const std::string&) { told.push_back(failed); });
      member.memory.words[0]++;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      for (std::uint64_t round = 1; told.empty(); ++round) {
        push_all(table, round);
        table.evaluate();
        require(std::chrono::steady_clock::now() < end, "the death is noticed");
      }
      const Snapshot<FrozenRow> then = table.snapshot();
      const MemberId dead = told.front();
      for (const std::uint64_t word : then.get(dead, &FrozenRow::wide)) {
        require(word == then.get(dead, &FrozenRow::wide)[0], "a Versioned is whole");
      }
      // Pushes are in order up to the end.
      require(then.get(dead, &FrozenRow::wide)[0] >= 4 * then.get(dead, &FrozenRow::block, 0),
              "wide, then block");
      require(then.get(dead, &FrozenRow::block, 0) >= then.get(dead, &FrozenRow::count),
              "block, then count");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const Snapshot<FrozenRow> now = table.snapshot();
      require(std::memcmp(&now.cells(dead), &then.cells(dead), sizeof(FrozenRow)) == 0, "frozen");
      require(told.size() == 1, "told once");
      member.memory.words[1]++;
      require(support::eventually([&] { return member.memory.words[1] >= 2; }), "both survive");
    });
    CHECK(support::eventually([&] { return job.memory().words[0] == 3; }));
    std::this_thread::sleep_for(moment);
    job.kill(victim);
    REQUIRE(job.wait() == std::to_string(victim) + ": signal 9\n");
  }
}

TEST_CASE("survivors_of_a_death_among_makers_of_tables_go_on_at_once") {
  const std::uint64_t seed = support::test_seed();
  support::Random random(seed);
  for (int point = 0; point < 30; ++point) {
    const auto victim = static_cast<std::uint32_t>(random.below(4));
    const auto moment = std::chrono::microseconds(random.below(3'000));
    CAPTURE(seed, point, victim, moment.count());
    // A late device spreads the steps over time.
    const auto adversary = "seed=" + std::to_string(1 + random.below(100'000));
    setenv("CARIAMA_SHM_ADVERSARY", adversary.c_str(), 1);
    std::vector<dsfabric::ProcessId> survivors;
    for (std::uint16_t i = 0; i < 4; ++i) {
      if (i != victim) survivors.push_back({i});
    }
    ForkJob job(4, [=](Member& member) {
      TableNode node(member);
      member.memory.words[0]++;
      std::uint16_t named = 4;
      for (int i = 0; named == 4; ++i) {
        try {
          const Table<FrozenRow> table(node.group, {.name = std::to_string(i)});
        } catch (const dsfabric::PeerFailed& failed) {
          named = failed.process().value;
        }
      }
      support::require_equal(named, victim, "the process that failed");
      const Table<FrozenRow> table(node.group, {.members = survivors, .name = "survivors"});
      member.memory.words[1]++;
      require(support::eventually([&] { return member.memory.words[1] >= 3; }), "all survive");
    });
    REQUIRE(support::eventually([&] { return job.memory().words[0] == 4; }));
    std::this_thread::sleep_for(moment);
    job.kill(victim);
    // The device says that a process is gone within a second; who waited for it until the time
    // limit for making tables would be told so by an Error, after half a minute.
    CHECK(
        support::eventually([&] { return job.memory().words[1] == 3; }, std::chrono::seconds(10)));
    REQUIRE(job.wait() == std::to_string(victim) + ": signal 9\n");
  }
  unsetenv("CARIAMA_SHM_ADVERSARY");
}
