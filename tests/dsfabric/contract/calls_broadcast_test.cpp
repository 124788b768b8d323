// SPDX-License-Identifier: MIT
// Broadcasts: everybody once, with every kind of buffer, and what a dead process costs.
#include <array>
#include <memory>
#include <set>

#include "dsfabric/support/broken_broadcast.hpp"
#include "dsfabric/support/call_job.hpp"
#include "support/catch.hpp"
#include "support/patterns.hpp"
#include "support/per_process.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::fill;
using support::holds;
using support::in_every_mode;
using support::ledger;
using support::require;
using support::require_equal;

namespace {

/// Calls by worker.
std::atomic<std::uint64_t>& calls_of(const Thread& self) {
  static support::PerProcess<std::array<std::atomic<std::uint64_t>, 8>> calls;
  return (*calls)[self.id().index];
}
void count(CallContext& call) { ++calls_of(*call.worker); }

/// Each worker broadcasts in its turn; `send` is called by that worker, `check` by all afterwards.
void take_turns(Thread& self, const std::function<void(std::uint32_t)>& send) {
  for (std::uint32_t turn = 0; turn < self.fabric().total_threads(); ++turn) {
    if (self.fabric().thread_of_rank(turn) == self.id()) send(turn);
    self.barrier();
    require_equal(calls_of(self).load(), std::uint64_t{turn} + 1, "calls here");
    self.barrier();  // the next one begins when all have looked
  }
  require_equal(ledger().wrong.load(), 0u, "wrong calls");
}

}  // namespace

TEST_CASE("broadcast_tree_reaches_everybody_once_in_few_steps") {
  for (std::uint32_t count = 1; count < 70; ++count) {
    std::multiset<std::uint32_t> reached;
    std::uint32_t deepest = 0;
    const std::function<void(detail::Tree, std::uint32_t)> visit = [&](detail::Tree tree,
                                                                       std::uint32_t depth) {
      reached.insert(tree.first);
      deepest = std::max(deepest, depth);
      detail::forward_parts(tree, [&](const detail::Tree& part) {
        visit(part, depth + 1);
        return true;
      });
    };
    visit({{}, {}, 0, 0, count}, 0);
    CHECK(reached.size() == count);
    for (std::uint32_t i = 0; i < count; ++i) CHECK(reached.count(i) == 1);
    CHECK((1u << deepest) < 2 * count);
  }
}

TEST_CASE("broadcast_tree_passes_over_who_is_gone") {
  std::set<std::uint32_t> reached;
  const std::set<std::uint32_t> gone{1, 4, 5, 9};
  const std::function<void(detail::Tree)> visit = [&](detail::Tree tree) {
    reached.insert(tree.first);
    detail::forward_parts(tree, [&](const detail::Tree& part) {
      if (gone.count(part.first) != 0) return false;
      visit(part);
      return true;
    });
  };
  visit({{}, {}, 0, 0, 10});
  CHECK(reached == std::set<std::uint32_t>{0, 2, 3, 6, 7, 8});
}

TEST_CASE("broadcast_runs_at_every_worker_once") {
  in_every_mode(3, 2, [](Thread& self) {
    SendChannel calls(self.fabric());
    ExecutionSlots executed(self.fabric());
    take_turns(self, [&](std::uint32_t) {
      require(calls.broadcast(
                  [from = self.id()](CallContext& call) {
                    ledger().wrong += call.source != from;
                    count(call);
                  },
                  &executed),
              "sent");
      require(executed.wait().empty(), "all have run it");
    });
  });
}

TEST_CASE("broadcast_buffer_carries_the_buffer_in_the_call") {
  in_every_mode(4, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    ExecutionSlots executed(self.fabric());
    take_turns(self, [&](std::uint32_t turn) {
      std::vector<std::byte> bytes(2000);
      fill(bytes, turn);
      require(calls.broadcast_buffer(
                  [turn](CallContext& call, const std::byte* data, std::uint32_t size) {
                    ledger().wrong += size != 2000 || !holds({data, size}, turn);
                    count(call);
                  },
                  bytes, &executed),
              "sent");
      require(executed.wait().empty(), "all have run it");
    });
  });
}

TEST_CASE("broadcast_buffer_by_write_fills_every_destination_first") {
  in_every_mode(4, 1, [](Thread& self) {
    static constexpr std::uint32_t kBytes = 50'000;
    SymmetricBuffer buffer(self, kBytes);
    SendChannel calls(self.fabric());
    ExecutionSlots executed(self.fabric());
    take_turns(self, [&](std::uint32_t turn) {
      // Once from memory of its own, once from the buffer itself.
      auto source = self.fabric().general_allocator().allocate(kBytes);
      const bool own = turn % 2 == 0;
      fill({own ? source.data() : buffer.data(), kBytes}, turn);
      require(calls.broadcast_buffer(
                  [turn](CallContext& call, std::byte* data, std::uint32_t size) {
                    ledger().wrong += size != kBytes || !holds({data, size}, turn);
                    std::memset(data, 0, size);  // the others have theirs already
                    count(call);
                  },
                  own ? source : buffer.memory(), buffer, kBytes, executed),
              "sent");
      require(executed.wait().empty(), "all have run it");
    });
  });
}

TEST_CASE("a_symmetric_buffer_is_complete_everywhere_when_the_first_of_them_is_made") {
  in_every_mode(4, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    ExecutionSlots executed(self.fabric());
    for (std::uint32_t round = 0; round < 60; ++round) {
      // The others may still be about to make theirs.
      SymmetricBuffer buffer(self, 64);
      if (self.id() == ThreadId{{0}, 0}) {
        require(calls.broadcast_buffer([](CallContext&, std::byte*, std::uint32_t) {},
                                       buffer.memory(), buffer, 64, executed),
                "sent");
        require(executed.wait().empty(), "all have run it");
      }
      self.barrier();
    }
  });
}

TEST_CASE("broadcast_buffer_by_read_fetches_from_the_caller") {
  in_every_mode(4, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    ExecutionSlots executed(self.fabric());
    take_turns(self, [&](std::uint32_t turn) {
      auto source = self.fabric().general_allocator().allocate(30'000);
      fill({source.data(), 30'000}, turn);
      require(calls.broadcast_buffer(
                  [turn](CallContext& call, const std::byte* data, std::uint32_t size) {
                    ledger().wrong += size < 30'000 || !holds({data, 30'000}, turn);
                    count(call);
                  },
                  source, executed),
              "sent");
      require(executed.wait().empty(), "all have run it");
    });
  });
}

TEST_CASE("worker_where_the_callable_throws_is_returned") {
  in_every_mode(3, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    ExecutionSlots executed(self.fabric());
    if (self.id().process.value == 0) {
      require(calls.broadcast(
                  [](CallContext& call) {
                    if (call.worker->id().process.value == 1) throw std::runtime_error("no");
                  },
                  &executed),
              "sent");
      require(executed.wait() == std::vector{ThreadId{{1}, 0}}, "the one that threw");
    }
    self.barrier();
  });
}

TEST_CASE("broadcast_ends_when_a_process_dies_in_the_middle") {
  CHECK(support::broadcast_past_the_dead([](Thread& self) {
          return std::make_unique<SendChannel>(self.fabric());
        }) == "2: signal 9\n");
}
