// SPDX-License-Identifier: MIT
// Who carries the letters ends: connected processes go on, and no wait is in vain.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "dsfabric/support/fork_job.hpp"
#include "dsfabric/support/word_memory.hpp"
#include "dtutils/clock.hpp"
#include "support/catch.hpp"
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

constexpr std::size_t kEnded = 1;
constexpr std::size_t kLost = 2;

/// From some time on it brings nothing, and says that who carried the letters has ended.
class EndingBootstrap final : public LetterBootstrap {
 public:
  explicit EndingBootstrap(const Member& member)
      : LetterBootstrap(member.memory, member.wakes, member.rank, member.size), member_(member) {}
  void send(std::uint32_t to, std::span<const std::byte> bytes) override {
    if (lost()) return;
    LetterBootstrap::send(to, bytes);
  }
  std::optional<Letter> next_letter() noexcept override {
    auto letter = LetterBootstrap::next_letter();
    while (letter && lost()) letter = LetterBootstrap::next_letter();
    return letter;
  }
  std::optional<std::uint32_t> next_failed() noexcept override {
    if (member_.memory.words[kEnded] == 0) return LetterBootstrap::next_failed();
    return told_.exchange(true) ? std::nullopt : std::optional(size());
  }

 private:
  /// Letters are lost before anybody hears of it.
  bool lost() const noexcept { return member_.memory.words[kLost] != 0; }

  const Member& member_;
  std::atomic<bool> told_{false};
};

/// They leave without news of those that they are not connected with: nobody carries it. That wait
/// is not what is tested here.
Fabric join_soon_left(const Member& member) {
  Config config;
  config.leave_timeout = std::chrono::milliseconds(500);
  return Member::join(std::make_unique<EndingBootstrap>(member), config);
}

void require_reason(Fabric& fabric, ProcessId process) {
  require(eventually([&] { return fabric.failed(process); }), "it has failed");
  const std::string text = fabric.failure_reason(process);
  require(text.find("who carried the letters has ended") != std::string::npos, text.c_str());
}

}  // namespace

TEST_CASE("connected_processes_outlive_who_carries_letters_and_others_are_told_at_once") {
  ForkJob job(3, [](Member& member) {
    Fabric fabric = join_soon_left(member);
    WordMemory words(fabric);
    support::meet(member, fabric, 0);
    if (member.rank == 0) require(words.write({1}, 1), "they connect");
    if (member.rank == 1) {
      require(eventually([&] { return words.own(0) == 1; }), "they have connected");
      require(words.write({0}, 1), "both ways");
      member.memory.words[kLost] = 1;
      member.memory.words[kEnded] = 1;
    }
    require(eventually([&] { return member.memory.words[kEnded] == 1; }), "it has ended");
    if (member.rank == 2) {
      const auto begin = dtutils::Clock::now();
      require(!words.write({0}, 2), "nobody connects");
      require(!words.write({1}, 2), "with anybody");
      require(dtutils::Clock::now() - begin < std::chrono::seconds(10), "and nobody waits");
      require_reason(fabric, {0});
      require_reason(fabric, {1});
    } else {
      const auto other = static_cast<std::uint16_t>(1 - member.rank);
      require(words.write({other}, 3), "the connected go on");
      require(eventually([&] { return words.own(other) == 3; }), "both ways");
      require_equal(fabric.failures(), 0u, "and believe nothing of each other");
    }
    member.memory.words[3]++;
    require(eventually([&] { return member.memory.words[3] == 3; }), "all are through");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("handshakes_under_way_end_when_the_letters_do") {
  ForkJob job(2, [](Member& member) {
    Fabric fabric = join_soon_left(member);
    WordMemory words(fabric);
    support::meet(member, fabric, 0);
    if (member.rank == 0) {
      member.memory.words[kLost] = 1;
      require(!words.write({1}, 1), "its offer was lost");
      require_reason(fabric, {1});
    } else {
      require(eventually([&] { return member.memory.words[kLost] == 1; }), "it will be lost");
      require(!eventually([&] { return fabric.connected({0}); }, std::chrono::milliseconds(100)),
              "nobody connects");
      member.memory.words[kEnded] = 1;
    }
    member.memory.words[3]++;
    require(eventually([&] { return member.memory.words[3] == 2; }), "both are through");
  });
  CHECK(job.wait() == "");
}
