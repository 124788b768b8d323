// SPDX-License-Identifier: MIT
// Many messages from everybody to everybody: all arrive, whole and in order.
#include <cstdint>

#include "dsfabric/support/fabric_job.hpp"
#include "dsfabric/support/message_job.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::Counter;
using support::in_counting_job;
using support::Member;
using support::require;
using support::require_equal;
using support::send;
using support::serve_until;

namespace {

/// Every worker of that many processes sends `count` messages of `bytes` to every worker, itself
/// included.
void all_to_all(std::uint32_t processes, const Config& config, std::uint64_t count,
                std::uint32_t bytes) {
  in_counting_job(processes, config, [&](Member&, Fabric& fabric, Counter& counter) {
    fabric.run([&](Thread& self) {
      for (std::uint64_t i = 0; i < count; ++i) {
        for (std::uint32_t to = 0; to < fabric.total_threads(); ++to) {
          require(send(fabric, fabric.thread_of_rank(to), i, bytes), "the peer lives");
        }
      }
      const std::uint64_t expected = count * fabric.total_threads() * config.threads;
      serve_until(self, [&] { return counter.received >= expected; });
      self.barrier();
      require_equal(counter.received.load(), expected, "messages");
      require_equal(counter.wrong.load(), 0u, "messages out of order or damaged");
    });
  });
}

}  // namespace

TEST_CASE("small_messages_arrive_in_order") {
  Config config;
  config.threads = 2;
  all_to_all(3, config, 2000, 8);
}

TEST_CASE("large_messages_arrive_whole") {
  Config config;
  config.threads = 2;
  all_to_all(2, config, 500, 4096 - sizeof(MessageHeader));
}

TEST_CASE("several_queue_pairs_keep_each_threads_order") {
  Config config;
  config.threads = 3;
  config.queue_pairs = 2;
  all_to_all(2, config, 500, 64);
}

TEST_CASE("messages_arrive_without_service_threads") {
  Config config;
  config.threads = 1;
  config.service_threads = 0;
  all_to_all(2, config, 2000, 100);
}

TEST_CASE("few_receive_buffers_hold_senders_back_but_lose_nothing") {
  Config config;
  config.threads = 1;
  config.receive_depth = 8;
  config.receive_limit = 32 * 4096;
  all_to_all(2, config, 3000, 8);
}

TEST_CASE("worker_that_only_sends_runs_what_comes_for_it") {
  Config config;
  config.threads = 1;
  // As many as are sent, so that nobody ever waits for a receiver, and runs messages meanwhile.
  constexpr std::uint64_t kSent = 2000;
  config.receive_depth = kSent;
  in_counting_job(1, config, [](Member&, Fabric& fabric, Counter& counter) {
    fabric.run([&](Thread& self) {
      for (std::uint64_t i = 0; i < kSent; ++i) require(send(fabric, self.id(), i), "sent");
      require(counter.received > kSent / 2, "it kept up");
      serve_until(self, [&] { return counter.received == kSent; });
      require_equal(counter.wrong.load(), 0u, "messages out of order or damaged");
    });
  });
}
