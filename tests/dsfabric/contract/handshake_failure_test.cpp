// SPDX-License-Identifier: MIT
// Processes that end before, or while, others connect with them: every wait ends, and in words.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dsfabric/support/fork_job.hpp"
#include "dsfabric/support/word_memory.hpp"
#include "dtutils/clock.hpp"
#include "support/catch.hpp"
#include "support/no_descriptors.hpp"
#include "support/require.hpp"
#include "support/skip.hpp"

using namespace dsfabric;
using support::eventually;
using support::ForkJob;
using support::LetterBootstrap;
using support::Member;
using support::NoDescriptors;
using support::require;
using support::WordMemory;

namespace {

/// Kills its process at one of the steps that letters take.
class DyingBootstrap final : public LetterBootstrap {
 public:
  DyingBootstrap(const Member& member, int last_step)
      : LetterBootstrap(member.memory, member.wakes, member.rank, member.size),
        member_(member),
        last_step_(last_step) {}
  void send(std::uint32_t to, std::span<const std::byte> bytes) override {
    step();
    LetterBootstrap::send(to, bytes);
    step();
  }
  std::optional<Letter> next_letter() noexcept override {
    auto letter = LetterBootstrap::next_letter();
    if (letter) step();
    return letter;
  }

 private:
  void step() noexcept {
    if (++steps_ == last_step_) member_.die();
  }
  const Member& member_;
  const int last_step_;
  std::atomic<int> steps_{0};
};

void require_words(const std::string& text, const std::string& part) {
  require(text.find(part) != std::string::npos, text.c_str());
}

/// Of another process, once it has failed here.
std::string reason_of(Fabric& fabric, ProcessId process) {
  require(eventually([&] { return fabric.failed(process); }), "it has failed");
  return fabric.failure_reason(process);
}

}  // namespace

TEST_CASE("death_at_any_step_of_a_handshake_is_told_and_harms_nobody_else") {
  // The victim begins with 0, while both others begin with it: twelve steps at most.
  for (int last_step = 1; last_step <= 13; ++last_step) {
    INFO("step " << last_step);
    ForkJob job(3, [&](Member& member) {
      const bool victim = member.rank == 2;
      Fabric fabric = victim ? Member::join(std::make_unique<DyingBootstrap>(member, last_step), {})
                             : member.join();
      WordMemory words(fabric);
      support::meet(member, fabric, 0);
      if (victim) {
        (void)words.write({0}, 1);
        member.memory.words[1]++;
        require(eventually([&] { return member.memory.words[1] == 3; }), "the others are through");
        member.die();
      }
      (void)words.write({2}, 1);
      member.memory.words[1]++;
      require(!reason_of(fabric, {2}).empty(), "there is a reason");
      require(!words.write({2}, 2), "nothing reaches the dead");
      require(!SendSpace(fabric, {2}, 8), "no message does");
      const auto other = static_cast<std::uint16_t>(1 - member.rank);
      require(words.write({other}, 3), "the survivors connect");
      require(eventually([&] { return words.own(other) == 3; }), "with each other");
      support::meet(member, fabric, 2);
      require(fabric.failures() == 1, "nobody else has failed");
      member.memory.words[2] = 3;
    });
    const auto let_go = [&] { return job.memory().words[2] >= 2; };
    CHECK(eventually(let_go, std::chrono::seconds(20)));
    job.memory().words[2] = 3;
    REQUIRE(job.wait() == "2: signal 9\n");
  }
}

TEST_CASE("stopped_process_fails_after_the_start_timeout_and_hears_of_it_when_it_wakes") {
  ForkJob job(3, [](Member& member) {
    Config config;
    config.start_timeout = std::chrono::milliseconds(3000);
    Fabric fabric = member.join(config);
    WordMemory words(fabric);
    support::meet(member, fabric, 0);
    if (member.rank == 0) {
      require(eventually([&] { return member.memory.words[1] == 1; }), "the other is stopped");
      const auto begin = dtutils::Clock::now();
      require(!words.write({1}, 1), "it does not answer");
      require(dtutils::Clock::now() - begin < std::chrono::seconds(20), "in time");
      require_words(fabric.failure_reason({1}), "did not answer within 3000 ms");
      member.memory.words[2] = 1;
      require(eventually([&] { return member.memory.words[3] == 1; }), "the other has woken up");
      require(words.own(1) == 0, "nothing of it arrives");
    }
    if (member.rank == 1) {
      require_words(reason_of(fabric, {0}), "it regards this process as failed: it did not answer");
      require(!words.write({0}, 1), "it is cut off");
      require(words.write({2}, 1), "from nobody else");
      member.memory.words[3] = 1;
    }
    if (member.rank == 2) {
      require(eventually([&] { return words.own(1) == 1; }, std::chrono::seconds(20)), "it writes");
      require(fabric.failures() == 0, "a third one believes nothing of it");
    }
  });
  CHECK(eventually([&] { return job.memory().words[0] == 3; }));
  job.stop(1);
  job.memory().words[1] = 1;
  CHECK(eventually([&] { return job.memory().words[2] == 1; }, std::chrono::seconds(20)));
  job.resume(1);
  CHECK(job.wait() == "");
}

TEST_CASE("failure_of_a_process_reaches_those_who_never_talked_to_it_with_its_reason") {
  ForkJob job(3, [](Member& member) {
    Fabric fabric = member.join();
    SendChannel calls(fabric);
    if (member.rank == 1) {
      const auto bad = [] { throw std::runtime_error("the disk is gone"); };
      require(calls.call(ThreadId::service_of({0}), bad) == CallStatus::kAccepted, "accepted");
    }
    if (member.rank != 0) {
      require_words(reason_of(fabric, {0}), "the disk is gone");
      require(!fabric.connected({static_cast<std::uint16_t>(3 - member.rank)}),
              "nobody else talks");
      member.memory.words[0]++;
    }
    // Without progress, so that the service thread runs the call.
    require(eventually([&] { return member.memory.words[0] == 2; }), "both know");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("process_without_descriptors_says_so_where_it_cannot_connect_and_others_go_on") {
#if defined(__SANITIZE_ADDRESS__)
  WARN("SKIPPED: the sanitizer needs a descriptor of its own to look at memory");
  return;
#endif
  if (support::skipped_on_sim("nodes open no descriptors")) return;
  ForkJob job(3, [](Member& member) {
    Fabric fabric = member.join();
    WordMemory words(fabric);
    support::meet(member, fabric, 0);
    if (member.rank == 0) {
      const NoDescriptors none;
      // Some devices need none.
      if (!words.write({1}, 1)) require_words(reason_of(fabric, {1}), "ulimit -n");
      member.memory.words[1] = 1 + fabric.failed({1});
    } else {
      require(eventually([&] { return member.memory.words[1] != 0; }), "it has tried");
      if (member.rank == 2) {
        require(words.write({1}, 7), "others connect");
        require(!fabric.failed({0}), "who was not asked has not failed");
      } else if (member.memory.words[1] == 2) {
        require_words(reason_of(fabric, {0}), "ulimit -n");
      }
    }
    support::meet(member, fabric, 2);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("upcall_of_a_failure_may_be_the_first_to_use_a_process") {
  ForkJob job(3, [](Member& member) {
    Fabric fabric = member.join();
    WordMemory words(fabric);
    std::atomic<int> told{0};
    if (member.rank == 0) {
      fabric.on_failure([&](ProcessId failed, const std::string&) {
        told = words.write({1}, failed.value + 40u) ? 1 : 2;
      });
    }
    support::meet(member, fabric, 0);
    if (member.rank == 2) member.die();
    require(eventually([&] { return fabric.failed({2}); }), "the death is known");
    if (member.rank == 1) require(eventually([&] { return words.own(0) == 42; }), "and told");
    if (member.rank == 0) {
      require(eventually([&] { return told != 0; }), "the upcall ends");
      require(told == 1, "it has written");
    }
    ++member.memory.words[1];
    require(eventually([&] { return member.memory.words[1] == 2; }), "both are through");
  });
  CHECK(job.wait() == "2: signal 9\n");
}

TEST_CASE("letters_that_make_no_sense_fail_their_sender_for_those_who_got_them") {
  const std::byte unknown{9};
  const std::byte offer{1};
  const std::byte ready{2};
  const std::byte end{3};
  for (const std::vector<std::byte>& letter :
       {std::vector<std::byte>{}, {unknown}, {offer}, {ready}, {end}, {offer, end, end}}) {
    ForkJob job(3, [&](Member& member) {
      auto own =
          std::make_unique<LetterBootstrap>(member.memory, member.wakes, member.rank, member.size);
      LetterBootstrap& letters = *own;
      Fabric fabric = Member::join(std::move(own), {});
      WordMemory words(fabric);
      support::meet(member, fabric, 0);
      if (member.rank == 2) letters.send(0, letter);
      if (member.rank == 0) require(!reason_of(fabric, {2}).empty(), "there is a reason");
      if (member.rank == 2)
        require_words(reason_of(fabric, {0}), "it regards this process as failed");
      if (member.rank == 1) {
        require(words.write({0}, 1) && words.write({2}, 1), "others talk to both");
        require(fabric.failures() == 0, "and believe nothing of either");
      }
      member.memory.words[1]++;
      require(eventually([&] { return member.memory.words[1] == 3; }), "all are through");
    });
    REQUIRE(job.wait() == "");
  }
}
