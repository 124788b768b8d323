// SPDX-License-Identifier: MIT
// Calls through rings, each sent at once: all of the family, order, full rings.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <thread>

#include "dsfabric/support/ledger.hpp"
#include "riutils/support/ring_job.hpp"
#include "support/error_text.hpp"

using namespace dsfabric;
using namespace riutils;
using support::in_every_mode;
using support::ledger;
using support::require;
using support::require_equal;
using support::serve_until;
using support::small_ring;

namespace {

/// Expected next, by sending worker.
std::uint64_t& expected_from(ThreadId source) {
  static std::array<std::uint64_t, 64> next{};
  return next[source.process.value * 8u + source.index];
}

struct Numbered {
  std::uint64_t number;
  void operator()(CallContext& call) const {
    std::uint64_t& expected = expected_from(call.source);
    if (number != expected) ++ledger().wrong;
    ++expected;
    ++ledger().calls;
  }
};

void call_neighbour(Thread& self, const MessengerOptions& options, std::uint64_t count) {
  RDMAMessengerGlobal messenger(self, options);
  const ThreadId next = self.neighbour(1);
  for (std::uint64_t i = 0; i < count; ++i) {
    while (messenger.call(next, Numbered{i}) == CallStatus::kFull) {
      require(options.when_full != WhenFull::kRetry, "a call that retries is made");
      self.progress();
    }
  }
  serve_until(self, [&] { return messenger.flush() && ledger().calls == count; });
  require_equal(ledger().wrong.load(), 0u, "calls out of order");
  self.barrier();
}

}  // namespace

TEST_CASE("calls_arrive_in_order_and_once") {
  in_every_mode({}, [](Thread& self) { call_neighbour(self, {}, 3000); });
}

TEST_CASE("order_is_kept_while_a_small_ring_wraps_and_grows") {
  for (const WhenFull when : {WhenFull::kRetry, WhenFull::kFail, WhenFull::kRetryAsync}) {
    CAPTURE(static_cast<int>(when));
    in_every_mode({}, [when](Thread& self) { call_neighbour(self, {small_ring(), when}, 2000); });
  }
}

TEST_CASE("worker_calls_itself_and_a_worker_of_its_process") {
  in_every_mode({1, 2}, [](Thread& self) {
    RDMAMessengerGlobal messenger(self, {small_ring()});
    constexpr std::uint64_t kCalls = 600;
    for (std::uint64_t i = 0; i < kCalls; ++i) {
      require(messenger.call(self.id(), [] { ++ledger().calls; }), "to itself");
      require(messenger.call(self.neighbour(1), [i] { ledger().sum += i; }), "to the other");
    }
    constexpr std::uint64_t kSum = 2 * (kCalls * (kCalls - 1) / 2);
    serve_until(self, [] { return ledger().calls == 2 * kCalls && ledger().sum == kSum; });
    self.barrier();
  });
}

TEST_CASE("sizes_of_calls_and_buffers_may_be_anything_that_fits") {
  in_every_mode({}, [](Thread& self) {
    RDMAMessengerGlobal messenger(self, {small_ring()});
    const ThreadId next = self.neighbour(1);
    std::vector<std::byte> bytes(900);
    std::uint64_t sum = 0;
    constexpr std::uint32_t kCalls = 900;
    for (std::uint32_t size = 0; size < kCalls; ++size) {
      for (std::uint32_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + size);
      sum += size;
      const auto sent = messenger.call_buffer(
          next,
          [size](CallContext&, const std::byte* data, std::uint32_t length) {
            ledger().wrong += length != size;
            for (std::uint32_t i = 0; i < length; ++i) {
              ledger().wrong += data[i] != static_cast<std::byte>(i * 7 + size);
            }
            ledger().sum += length;
            ++ledger().calls;
          },
          std::span<const std::byte>(bytes.data(), size));
      require(sent, "sent");
    }
    serve_until(self, [] { return ledger().calls == kCalls; });
    require_equal(ledger().wrong.load(), 0u, "wrong bytes");
    require_equal(ledger().sum.load(), sum, "bytes in all");
    self.barrier();
  });
}

TEST_CASE("whole_family_of_calls_goes_through_rings") {
  in_every_mode({2, 2}, [](Thread& self) {
    Fabric& fabric = self.fabric();
    RDMAMessengerGlobal messenger(self);
    const ThreadId next = self.neighbour(1);
    // Written first, then called.
    SymmetricBuffer there(self, 4096);
    auto mine = fabric.general_allocator().allocate(4096);
    std::memset(mine.data(), 9, 4096);
    dtutils::Synchronizer sent(1);
    const auto count = [](CallContext&, const std::byte* data, std::uint32_t bytes) {
      for (std::uint32_t i = 0; i < bytes; ++i) ledger().wrong += data[i] != std::byte{9};
      ledger().sum += bytes;
    };
    require(messenger.call_buffer(next, count, mine.local(0, 3000), there.at(next), &sent), "sent");
    require(sent.wait() == dtutils::Synchronizer::Outcome::kDone, "transmitted");
    // Read by the destination, and by a service thread for it.
    ReturnSlot<void> executed(fabric);
    require(messenger.call_buffer(next, count, mine, executed), "sent");
    executed.get();
    // Results, and exceptions.
    ReturnSlot<std::uint64_t> result(fabric);
    for (std::uint64_t i = 0; i < 100; ++i) {
      require(
          messenger.call_return(
              next, [i](CallContext& call) { return i * 1000 + call.worker->id().index; }, result),
          "sent");
      require_equal(result.get(), i * 1000 + next.index, "result");
    }
    ReturnSlot<int> thrown(fabric);
    require(messenger.call_return(
                next, []() -> int { throw std::runtime_error("no bread left"); }, thrown),
            "sent");
    const std::string text = support::error_text([&] { thrown.get(); });
    require(text.find("no bread left") != std::string::npos, text);
    // To all.
    ExecutionSlots everywhere(fabric);
    require(messenger.broadcast([] { ++ledger().calls; }, &everywhere), "sent");
    require(everywhere.wait().empty(), "run by all");
    require(messenger.broadcast_buffer(count, mine, everywhere), "sent");
    require(everywhere.wait().empty(), "run by all");
    self.barrier();
    require_equal(ledger().calls.load(), 2 * 4u, "broadcasts, of four workers, run by two here");
    require_equal(ledger().wrong.load(), 0u, "wrong bytes");
    self.barrier();
  });
}

TEST_CASE("full_ring_answers_full_when_told_to") {
  in_every_mode({}, [](Thread& self) {
    RDMAMessengerGlobal messenger(self, {small_ring(), WhenFull::kFail});
    if (self.id().process.value == 0) {
      // The peer does not serve: it sleeps.
      std::uint64_t made = 0;
      messenger.setup(self.neighbour(1));
      CallStatus status;
      while ((status = messenger.call(self.neighbour(1), Numbered{made})) ==
             CallStatus::kAccepted) {
        require(++made < 10'000, "a ring that nobody empties fills");
      }
      require(made > 100, "four chunks hold more");
      require(status == CallStatus::kFull, "it says that it is full");
      require(SendChannel(self.fabric()).call(self.neighbour(1), [made] { ledger().sum = made; }),
              "a message needs no ring");
      self.barrier();
      serve_until(self, [&] {
        return messenger.call(self.neighbour(1), Numbered{made}) == CallStatus::kAccepted;
      });
      self.barrier();
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    self.barrier();
    serve_until(self, [] { return ledger().sum != 0 && ledger().calls == ledger().sum + 1; });
    require_equal(ledger().wrong.load(), 0u, "calls out of order");
    self.barrier();
  });
}

TEST_CASE("handlers_that_call_back_do_not_deadlock_on_full_rings") {
  in_every_mode({2, 2}, [](Thread& self) {
    const MessengerOptions options{{1024, 2, 2, 1u << 20}};
    // Each worker's messenger, for its handlers.
    static thread_local RDMAMessengerGlobal* mine = nullptr;
    RDMAMessengerGlobal messenger(self, options);
    mine = &messenger;
    self.barrier();
    constexpr std::uint64_t kCalls = 1000;
    for (std::uint64_t i = 0; i < kCalls; ++i) {
      const auto sent = messenger.call(self.neighbour(2), [](CallContext& call) {
        for (int back = 0; back < 2; ++back) {
          const CallStatus status = mine->call(call.source, [] { ++ledger().calls; });
          ledger().wrong += status != CallStatus::kAccepted;
        }
      });
      require(sent, "sent");
    }
    serve_until(self, [] { return ledger().calls == 2 * 2 * kCalls; });
    require_equal(ledger().wrong.load(), 0u, "refused answers");
    self.barrier();
    mine = nullptr;
  });
}

TEST_CASE("call_of_several_messengers_of_a_thread_share_one_order") {
  in_every_mode({}, [](Thread& self) {
    RDMAMessengerGlobal messenger(self, {small_ring()});
    RDMAAggregator aggregator(self, {.ring = small_ring(), .flush_bytes = 300});
    RDMAMessenger single(self, self.neighbour(1));
    constexpr std::uint64_t kCalls = 5000;
    for (std::uint64_t i = 0; i < kCalls; ++i) {
      const auto sent = i % 7 == 0   ? messenger.call(self.neighbour(1), Numbered{i})
                        : i % 7 == 5 ? single.call(Numbered{i})
                                     : aggregator.call(self.neighbour(1), Numbered{i});
      require(sent, "sent");
    }
    serve_until(self, [] { return ledger().calls == kCalls; });
    require_equal(ledger().wrong.load(), 0u, "calls out of order");
    self.barrier();
  });
}
