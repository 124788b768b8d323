// SPDX-License-Identifier: MIT
// Slots that find a Synchronizer: delivered once, held when asked, never lost.
#include "dtutils/detail/completion_hooks.hpp"

#include <atomic>
#include <deque>
#include <set>

#include "dtutils/unit/interrupter.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/device_under_test.hpp"

using dtutils::Synchronizer;
using dtutils::detail::CompletionHooks;
using After = CompletionHooks::After;
using Outcome = Synchronizer::Outcome;

namespace {

CompletionHooks* shared_hooks = nullptr;
std::atomic<std::uint32_t> shared_slot{CompletionHooks::kNone};

void deliver_shared_slot() {
  if (shared_slot != CompletionHooks::kNone) shared_hooks->deliver(shared_slot, true);
}

}  // namespace

TEST_CASE("hook_is_delivered_once") {
  Synchronizer synchronizer(2);
  CompletionHooks hooks(4);
  const std::uint32_t slot = hooks.claim(synchronizer, 0, After::kRelease);
  REQUIRE(slot != CompletionHooks::kNone);
  hooks.deliver(slot, true);
  hooks.deliver(slot, true);
  CHECK(synchronizer.pending() == 1);
  CHECK(synchronizer.failures() == 0);
}

TEST_CASE("hook_that_two_threads_deliver_at_the_same_time_is_delivered_once") {
  if (!support::kCanInterrupt) {
    WARN("SKIPPED: signals are held back here");
    return;
  }
  CompletionHooks hooks(1);
  shared_hooks = &hooks;
  const support::Interrupter other(deliver_shared_slot);
  dtutils::Deadline deadline(support::kPatience);
  while (support::Interrupter::calls() < 300 && !deadline.passed()) {
    Synchronizer synchronizer(2);
    const std::uint32_t slot = hooks.claim(synchronizer, 0, After::kRelease);
    shared_slot = slot;
    hooks.deliver(slot, true);
    shared_slot = CompletionHooks::kNone;
    // Not a REQUIRE, which takes far longer than a delivery.
    if (synchronizer.pending() != 1) FAIL("delivered more than once");
  }
}

TEST_CASE("failed_hook_fails_its_synchronizer") {
  Synchronizer synchronizer(1);
  CompletionHooks hooks(4);
  hooks.deliver(hooks.claim(synchronizer, 3, After::kRelease), false);
  CHECK(synchronizer.outcome() == Outcome::kFailed);
}

TEST_CASE("slots_are_distinct_and_more_than_twice_the_outstanding") {
  std::deque<Synchronizer> synchronizers;
  Synchronizer late(1);
  CompletionHooks hooks(5);
  REQUIRE(hooks.slots() >= 10);
  std::set<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < hooks.slots(); ++i) {
    slots.insert(hooks.claim(synchronizers.emplace_back(1u), 7, After::kRelease));
  }
  CHECK(slots.size() == hooks.slots());
  CHECK(*slots.begin() == 1);
  CHECK(*slots.rbegin() == hooks.slots());
  CHECK(hooks.claim(late, 0, After::kRelease) == CompletionHooks::kNone);
  hooks.deliver(6, true);
  CHECK(hooks.claim(late, 0, After::kRelease) == 6);
}

TEST_CASE("held_slot_is_nobody_elses_until_released") {
  Synchronizer held(1);
  Synchronizer other(1);
  Synchronizer again(1);
  CompletionHooks hooks(1);
  const std::uint32_t slot = hooks.claim(held, 0, After::kHold);
  hooks.deliver(slot, true);
  CHECK(held.outcome() == Outcome::kDone);
  const std::uint32_t next = hooks.claim(other, slot - 1, After::kRelease);
  CHECK(next != slot);
  hooks.deliver(next, true);
  hooks.release(slot);
  CHECK(hooks.claim(again, slot - 1, After::kRelease) == slot);
}

TEST_CASE("end_of_the_table_fails_what_still_waits") {
  Synchronizer waiting(1);
  Synchronizer delivered(1);
  Synchronizer held(1);
  {
    CompletionHooks hooks(8);
    hooks.claim(waiting, 0, After::kRelease);
    hooks.deliver(hooks.claim(delivered, 0, After::kRelease), true);
    hooks.deliver(hooks.claim(held, 0, After::kHold), true);
  }
  CHECK(waiting.outcome() == Outcome::kFailed);
  CHECK(delivered.outcome() == Outcome::kDone);
  CHECK(held.outcome() == Outcome::kDone);
}
