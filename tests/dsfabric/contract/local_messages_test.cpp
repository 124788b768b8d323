// SPDX-License-Identifier: MIT
// Messages of a process to itself keep the promises of all others, though no device carries them.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsfabric/execution_slots.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dsfabric/return_slot.hpp"
#include "dsfabric/send_channel.hpp"
#include "dsfabric/support/fabric_job.hpp"
#include "dsfabric/support/message_job.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
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

namespace {

/// Answers message 0 with many others to the same worker.
struct Burst {
  static constexpr std::uint64_t kMessages = 3000;
  std::uint64_t received = 0;

  static bool run(void* self, const Incoming& message) {
    std::uint64_t number;
    std::memcpy(&number, message.payload.data(), sizeof number);
    auto& burst = *static_cast<Burst*>(self);
    require_equal(number, burst.received++, "number of the message");
    for (std::uint64_t i = 1; number == 0 && i <= kMessages; ++i) {
      require(send(message.fabric, message.worker->id(), i), "it lives");
    }
    return true;
  }
};

Config few_buffers(std::uint32_t threads) {
  Config config;
  config.threads = threads;
  config.receive_depth = 8;
  config.receive_limit = 32 * config.receive_size;
  return config;
}

}  // namespace

TEST_CASE("a_handler_sends_more_to_its_own_worker_than_buffers_may_take") {
  ForkJob job(1, [](Member& member) {
    Fabric fabric = member.join(few_buffers(1));
    Burst burst;
    fabric.set_message_handler(kTestMessage, {Burst::run, &burst});
    fabric.run([&](Thread& self) {
      require(send(fabric, self.id(), 0), "it lives");
      serve_until(self, [&] { return burst.received == 1 + Burst::kMessages; });
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("workers_of_a_process_that_flood_each_other_wait_and_lose_nothing") {
  in_counting_job(1, few_buffers(2), [](Member&, Fabric& fabric, Counter& counter) {
    fabric.run([&](Thread& self) {
      constexpr std::uint64_t kSent = 3000;
      for (std::uint64_t i = 0; i < kSent; ++i) {
        require(send(fabric, self.neighbour(1), i, i % 50 == 0 ? 4000 : 8), "it lives");
      }
      serve_until(self, [&] { return counter.received == 2 * kSent; });
      require_equal(counter.wrong.load(), 0u, "messages out of order or damaged");
      self.barrier();
    });
  });
}

TEST_CASE("what_a_thread_wrote_to_its_own_process_is_there_before_its_message") {
  ForkJob job(1, [](Member& member) {
    Config config;
    config.threads = 2;
    Fabric fabric = member.join(config);
    fabric.run([&](Thread& self) {
      SendChannel calls(fabric);
      dtutils::RDMAMemory from = fabric.general_allocator().allocate(4096);
      dtutils::RDMAMemory into = fabric.general_allocator().allocate(4096);
      const auto address = reinterpret_cast<std::uint64_t>(into.data());
      for (int i = 1; i <= 200; ++i) {
        std::memset(from.data(), i, 4096);
        require(fabric.transmitter(fabric.process()).write(from.local(0, 4096), into.remote()),
                "written");
        // The last byte lands first in the adversarial mode, and the first one last.
        const auto look = [address] {
          const auto* bytes = reinterpret_cast<const unsigned char*>(address);
          return bytes[0] == bytes[4095] ? bytes[0] : 0;
        };
        ReturnSlot<int> seen(fabric);
        require(calls.call_return(self.neighbour(i % 2), look, seen) == CallStatus::kAccepted,
                "accepted");
        require_equal(seen.get(), i % 256, "bytes that the call sees");
      }
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_synchronizer_hears_that_a_message_to_its_own_process_was_sent") {
  in_counting_job(1, 1, [](Member&, Fabric& fabric, Counter& counter) {
    fabric.run([&](Thread& self) {
      dtutils::Synchronizer sent(1);
      SendSpace space(fabric, fabric.process(), 8);
      const std::uint64_t number = 0;
      std::memcpy(space.payload(), &number, sizeof number);
      require(space.commit(kTestMessage, self.id(), &sent), "it lives");
      require(sent.outcome() == dtutils::Synchronizer::Outcome::kDone, "it is sent at once");
      require_equal(counter.received.load(), 0u, "messages run inside of commit");
      serve_until(self, [&] { return counter.received == 1; });
    });
  });
}

TEST_CASE("a_sleeping_service_thread_wakes_for_its_own_process") {
  ForkJob job(1, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    fabric.run([&](Thread&) {
      SendChannel calls(fabric);
      for (int i = 0; i < 5; ++i) {
        dtutils::sleep_for(std::chrono::milliseconds(20));
        dtutils::Synchronizer run(1);
        const auto begin = dtutils::Clock::now();
        const auto address = reinterpret_cast<std::uint64_t>(&run);
        require(calls.call(ThreadId::service_of(fabric.process()),
                           [address] {
                             reinterpret_cast<dtutils::Synchronizer*>(address)->decrement();
                           }) == CallStatus::kAccepted,
                "accepted");
        // Without progress() of this thread.
        while (!run.done()) {
          require(dtutils::Clock::now() - begin < std::chrono::seconds(20), "it woke");
          dtutils::give_way();
        }
      }
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_message_to_a_worker_that_its_process_does_not_have_is_refused") {
  in_counting_job(1, 1, [](Member&, Fabric& fabric, Counter& counter) {
    SendSpace space(fabric, fabric.process(), 8);
    std::memset(space.payload(), 0, 8);
    dtutils::Synchronizer sent(1);
    require(!space.commit(kTestMessage, ThreadId{fabric.process(), 7}, &sent), "refused");
    require(sent.outcome() == dtutils::Synchronizer::Outcome::kFailed, "it failed");
    require(fabric.failure_reason(fabric.process()).find("does not exist") != std::string::npos,
            fabric.failure_reason(fabric.process()));
    require_equal(counter.received.load(), 0u, "messages");
  });
}

TEST_CASE("who_sends_to_a_worker_of_its_own_process_that_threw_is_refused") {
  ForkJob job(1, [](Member& member) {
    Fabric fabric = member.join(few_buffers(2));
    fabric.set_message_handler(kTestMessage,
                               {[](void*, const Incoming&) { return true; }, nullptr});
    bool thrown = false;
    try {
      fabric.run([&](Thread& self) {
        if (self.id().index == 1) throw std::runtime_error("out of cheese");
        // Nobody takes these messages, and there are fewer buffers than messages.
        std::uint64_t sent = 0;
        while (sent < 1'000'000 && send(fabric, self.neighbour(1), sent, 4000)) ++sent;
        require(sent < 1'000'000, "a send is refused");
        require(fabric.failure_reason(fabric.process()).find("out of cheese") != std::string::npos,
                fabric.failure_reason(fabric.process()));
        SendChannel calls(fabric);
        require(calls.call(self.neighbour(1), [] {}) == CallStatus::kPeerGone, "a call too");
      });
    } catch (const std::runtime_error& error) {
      thrown = std::string(error.what()) == "out of cheese";
    }
    require(thrown, "run() throws what the worker threw");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("who_waits_for_a_worker_of_its_own_process_that_threw_gets_peer_failed") {
  ForkJob job(1, [](Member& member) {
    Config config;
    config.threads = 3;
    Fabric fabric = member.join(config);
    std::atomic<bool> called{false};
    std::atomic<bool> given_up{false};
    std::atomic<bool> answered{false};
    const auto wait_for = [](const std::atomic<bool>& flag) {
      require(support::eventually([&] { return flag.load(); }), "the other one comes so far");
    };
    try {
      fabric.run([&](Thread& self) {
        SendChannel calls(fabric);
        if (self.id().index == 1) {
          wait_for(called);
          throw std::runtime_error("out of cheese");
        }
        if (self.id().index == 2) {
          // Answers when nobody waits any more.
          wait_for(given_up);
          while (self.progress()) {
          }
          answered = true;
          return;
        }
        const auto lost = [&](auto&& wait) {
          try {
            wait();
          } catch (const PeerFailed& failure) {
            return failure.process() == fabric.process();
          }
          return false;
        };
        {
          ReturnSlot<int> slow(fabric);
          ReturnSlot<int> never(fabric);
          ExecutionSlots executed(fabric);
          require(calls.call_return(
                      self.neighbour(2), [] { return 1; }, slow) == CallStatus::kAccepted &&
                      calls.call_return(
                          self.neighbour(1), [] { return 1; }, never) == CallStatus::kAccepted &&
                      calls.broadcast([] {}, &executed) == CallStatus::kAccepted,
                  "accepted");
          called = true;
          require(lost([&] { never.get(); }), "the result never comes");
          require(lost([&] { slow.get(); }), "nor does that of the others");
          require(!executed.wait().empty(), "the broadcast is not executed everywhere");
        }
        // Memory that a late answer must not touch.
        std::vector<dtutils::RDMAMemory> used;
        for (int i = 0; i < 64; ++i) {
          used.push_back(fabric.general_allocator().allocate(16 << (i % 5)));
          std::memset(used.back().data(), 0x5a, used.back().size());
        }
        given_up = true;
        wait_for(answered);
        for (const dtutils::RDMAMemory& memory : used) {
          for (std::size_t i = 0; i < memory.size(); ++i) {
            require(memory.data()[i] == std::byte{0x5a}, "nothing is written late");
          }
        }
      });
    } catch (const std::runtime_error& error) {
      require(std::string(error.what()) == "out of cheese", error.what());
    }
  });
  CHECK(job.wait() == "");
}
