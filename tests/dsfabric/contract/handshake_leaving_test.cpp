// SPDX-License-Identifier: MIT
// Processes that leave before, or while, others connect with them: they have not failed.
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "dsfabric/support/fork_job.hpp"
#include "dsfabric/support/word_memory.hpp"
#include "dtutils/clock.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::eventually;
using support::ForkJob;
using support::LetterBootstrap;
using support::Member;
using support::require;
using support::require_equal;
using support::WordMemory;

namespace {

/// Brings letters late, each after up to 5 ms, in their order. Whoever looks for them finds them
/// then.
class LateBootstrap final : public LetterBootstrap {
 public:
  LateBootstrap(const Member& member, std::uint64_t seed)
      : LetterBootstrap(member.memory, member.wakes, member.rank, member.size), random_(seed) {}
  std::optional<Letter> next_letter() noexcept override {
    while (auto letter = LetterBootstrap::next_letter()) held_.push_back({std::move(*letter), {}});
    if (held_.empty()) return std::nullopt;
    auto& [letter, due] = held_.front();
    if (!due) due = Clock::now() + std::chrono::microseconds(random_.below(5000));
    if (Clock::now() < *due) return std::nullopt;
    std::optional<Letter> came(std::move(letter));
    held_.pop_front();
    return came;
  }
  std::optional<std::uint32_t> next_failed() noexcept override {
    return held_.empty() ? LetterBootstrap::next_failed() : std::nullopt;
  }

 private:
  using Clock = dtutils::Clock;
  struct Held {
    Letter letter;
    /// Since it is the first.
    std::optional<Clock::time_point> due;
  };
  support::Random random_;
  std::deque<Held> held_;
};

}  // namespace

TEST_CASE("process_that_left_before_anybody_talked_to_it_has_left_and_not_failed") {
  ForkJob job(3, [](Member& member) {
    Fabric fabric = member.join();
    WordMemory words(fabric);
    support::meet(member, fabric, 0);
    if (member.rank == 2) return;
    require(eventually([&] { return fabric.state({2}) == PeerState::kLeft; }), "it has left");
    require(!words.write({2}, 1), "nothing goes there");
    require(!SendSpace(fabric, {2}, 8), "no message either");
    require(!fabric.connected({2}), "nobody connects");
    require(fabric.failures() == 0, "and nobody has failed");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("process_that_leaves_while_others_connect_with_it_has_not_failed") {
  const std::uint64_t seed = support::test_seed();
  for (int round = 0; round < 10; ++round) {
    CAPTURE(seed, round);
    ForkJob job(3, [&](Member& member) {
      std::atomic<int> failures{0};
      {
        Config config;
        config.watch_interval = std::chrono::milliseconds(1);
        const std::uint64_t own_seed = seed + 10 * static_cast<std::uint64_t>(round) + member.rank;
        Fabric fabric = Member::join(std::make_unique<LateBootstrap>(member, own_seed), config);
        fabric.on_failure([&](ProcessId, const std::string&) { ++failures; });
        WordMemory words(fabric);
        // Refused where that process has left already.
        const auto next = static_cast<std::uint16_t>((member.rank + 1) % member.size);
        (void)words.write({next}, 1);
      }
      require_equal(failures.load(), 0, "failures");
    });
    REQUIRE(job.wait() == "");
  }
}
