// SPDX-License-Identifier: MIT
// Which Synchronizers end with which peer.
#include "failure/pending_table.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using dsfabric::PendingTable;
using dtutils::Synchronizer;

TEST_CASE("failure_of_a_peer_fails_what_waits_for_it") {
  PendingTable table;
  Synchronizer theirs(2);
  Synchronizer others(1);
  const auto one = table.claim({1}, theirs);
  const auto two = table.claim({2}, others);
  table.fail_all({1});
  CHECK(theirs.outcome() == Synchronizer::Outcome::kFailed);
  CHECK_FALSE(others.done());
  table.release(one);
  table.release(two);
}

TEST_CASE("what_was_released_does_not_fail") {
  PendingTable table;
  Synchronizer released(1);
  table.release(table.claim({1}, released));
  table.fail_all({1});
  CHECK_FALSE(released.done());
}

TEST_CASE("what_was_done_stays_a_success") {
  PendingTable table;
  Synchronizer done(1);
  const auto slot = table.claim({1}, done);
  done.decrement();
  table.fail_all({1});
  CHECK(done.outcome() == Synchronizer::Outcome::kDone);
  table.release(slot);
}

TEST_CASE("a_reply_is_delivered_once_and_only_from_the_peer_that_owes_it") {
  PendingTable table;
  Synchronizer waiting(1);
  const auto slot = table.claim({1}, waiting);
  int delivered = 0;
  const auto deliver = [&](Synchronizer& synchronizer) {
    CHECK(&synchronizer == &waiting);
    ++delivered;
    synchronizer.decrement();
  };
  table.complete(slot, {2}, deliver);
  table.complete(slot + 1, {1}, deliver);
  CHECK(delivered == 0);
  CHECK_FALSE(waiting.done());
  table.complete(slot, {1}, deliver);
  table.complete(slot, {1}, deliver);
  table.fail_all({1});
  CHECK(delivered == 1);
  CHECK(waiting.outcome() == Synchronizer::Outcome::kDone);
  table.release(slot);
  CHECK(table.claim({1}, waiting) != PendingTable::kNone);
}

TEST_CASE("a_reply_that_comes_after_the_failure_is_dropped") {
  PendingTable table;
  Synchronizer failed(1);
  const auto slot = table.claim({1}, failed);
  table.fail_all({1});
  table.complete(slot, {1}, [](Synchronizer&) { FAIL("delivered"); });
  CHECK(failed.outcome() == Synchronizer::Outcome::kFailed);
  table.release(slot);
  table.complete(slot, {1}, [](Synchronizer&) { FAIL("delivered"); });
}

TEST_CASE("a_reply_and_the_failure_of_its_peer_may_meet") {
  PendingTable table;
  std::atomic<bool> stop{false};
  std::thread failer([&] {
    while (!stop) table.fail_all({1});
  });
  std::uint64_t wrong = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto synchronizer = std::make_unique<Synchronizer>(1);
    const auto slot = table.claim({1}, *synchronizer);
    bool delivered = false;
    table.complete(slot, {1}, [&](Synchronizer& word) {
      delivered = true;
      word.decrement();
    });
    while (!synchronizer->done()) {
    }
    wrong += delivered != (synchronizer->outcome() == Synchronizer::Outcome::kDone);
    table.release(slot);
  }
  stop = true;
  failer.join();
  CHECK(wrong == 0);
}

TEST_CASE("a_full_table_says_so_and_a_release_makes_room") {
  PendingTable table;
  Synchronizer many(1);
  std::vector<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < dsfabric::kPendingSlots; ++i) {
    slots.push_back(table.claim({1}, many));
    REQUIRE(slots.back() != PendingTable::kNone);
  }
  CHECK(table.claim({1}, many) == PendingTable::kNone);
  table.release(slots[17]);
  CHECK(table.claim({1}, many) == slots[17]);
}

TEST_CASE("release_and_failure_may_meet") {
  // A Synchronizer must not be touched after its release: the sanitizers watch that, too.
  PendingTable table;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> rounds{0};
  std::thread failer([&] {
    while (!stop) {
      table.fail_all({1});
      ++rounds;
    }
  });
  std::size_t touched = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  for (int i = 0; i < 1'000 || rounds < 1'000 || std::chrono::steady_clock::now() < end; ++i) {
    // Several, so that the failing comes by while they are taken back.
    std::vector<std::unique_ptr<Synchronizer>> synchronizers;
    std::vector<std::uint32_t> slots, failures;
    for (int k = 0; k < 32; ++k) {
      synchronizers.push_back(std::make_unique<Synchronizer>(1));
      slots.push_back(table.claim({1}, *synchronizers.back()));
    }
    for (std::size_t k = 0; k < slots.size(); ++k) {
      table.release(slots[k]);
      failures.push_back(synchronizers[k]->failures());
    }
    for (std::size_t k = 0; k < slots.size(); ++k) {
      touched += synchronizers[k]->failures() != failures[k];
    }
  }
  CHECK(touched == 0);
  stop = true;
  failer.join();
  Synchronizer last(1);
  std::size_t free = 0;
  while (table.claim({1}, last) != PendingTable::kNone) ++free;
  CHECK(free == dsfabric::kPendingSlots);
}
