// SPDX-License-Identifier: MIT
// Messages one by one: who may send them, how large they may be, and when they are sent.
#include <cstring>
#include <string>
#include <vector>

#include "dsfabric/support/fabric_job.hpp"
#include "dsfabric/support/message_job.hpp"
#include "dtutils/joinable_thread.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::Counter;
using support::ForkJob;
using support::in_counting_job;
using support::kTestMessage;
using support::Member;
using support::require;
using support::require_equal;
using support::send;
using support::serve_until;

TEST_CASE("short_lived_threads_may_send") {
  in_counting_job(2, 1, [](Member&, Fabric& fabric, Counter& counter) {
    constexpr std::uint64_t kThreads = 40;
    fabric.run([&](Thread& self) {
      for (std::uint64_t i = 0; i < kThreads; i += 4) {
        std::vector<dtutils::JoinableThread> threads;
        for (std::uint64_t k = 0; k < 4; ++k) {
          threads.emplace_back([&] { send(fabric, self.neighbour(1), 7, 1000); });
        }
        for (dtutils::JoinableThread& thread : threads) thread.join();
      }
      serve_until(self, [&] { return counter.received >= kThreads; });
      self.barrier();
      require_equal(counter.wrong.load(), 0u, "damaged messages");
    });
  });
}

TEST_CASE("more_short_lived_threads_than_configured_are_refused") {
  ForkJob job(1, [](Member& member) {
    Config config;
    config.threads = 1;
    config.outside_threads = 1;
    Fabric fabric = member.join(config);
    std::string text;
    dtutils::JoinableThread first([&] {
      fabric.progress();
      dtutils::JoinableThread second(
          [&] { text = support::error_text([&] { fabric.progress(); }); });
      second.join();
    });
    first.join();
    require(text.find("outside_threads") != std::string::npos, text);
    dtutils::JoinableThread third([&] { fabric.progress(); });
    third.join();
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_message_larger_than_a_receive_buffer_is_refused_at_the_sender") {
  ForkJob job(1, [](Member& member) {
    Fabric fabric = member.join();
    const std::string text =
        support::error_text([&] { SendSpace space(fabric, {0}, fabric.max_message() + 1); });
    require(text.find("receive_size") != std::string::npos, text);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_space_that_is_not_committed_sends_nothing") {
  in_counting_job(1, 1, [](Member&, Fabric& fabric, Counter& counter) {
    fabric.run([&](Thread& self) {
      { SendSpace space(fabric, {0}, 8); }
      { SendSpace space(fabric, {0}, 2000); }
      require(send(fabric, self.id(), 0), "it lives");
      serve_until(self, [&] { return counter.received == 1; });
    });
    require_equal(counter.received.load(), 1u, "messages");
  });
}

TEST_CASE("a_synchronizer_hears_that_a_message_was_sent") {
  in_counting_job(2, 1, [](Member&, Fabric& fabric, Counter& counter) {
    fabric.run([&](Thread& self) {
      dtutils::Synchronizer sent(2);
      for (const std::uint32_t bytes : {8u, 2000u}) {
        SendSpace space(fabric, self.neighbour(1).process, bytes);
        const std::uint64_t number = bytes == 8 ? 0 : 1;
        std::memset(space.payload(), static_cast<int>(number), bytes);
        std::memcpy(space.payload(), &number, sizeof number);
        require(space.commit(kTestMessage, self.neighbour(1), &sent), "it lives");
      }
      require(sent.wait_for(std::chrono::seconds(10)) == dtutils::Synchronizer::Outcome::kDone,
              "both are sent");
      serve_until(self, [&] { return counter.received == 2; });
      self.barrier();
      require_equal(counter.wrong.load(), 0u, "damaged messages");
    });
  });
}
