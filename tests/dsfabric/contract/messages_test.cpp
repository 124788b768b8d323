// SPDX-License-Identifier: MIT
// Messages: to workers and service threads, in order, of any size, from any thread.
#include <cstring>
#include <mutex>

#include "dsfabric/support/fork_job.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

namespace {

constexpr MessageKind kTest = MessageKind::kFirstFree;

/// Counts what arrives and checks that each sender's numbers come in order.
struct Counter {
  struct Sender {
    std::uint64_t next = 0;
  };
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> wrong{0};
  /// By receiving worker and sending process.
  Sender senders[4][support::kMostProcesses][4];

  static bool run(void* self, const Incoming& message) {
    auto& counter = *static_cast<Counter*>(self);
    std::uint64_t number;
    std::memcpy(&number, message.payload.data(), sizeof number);
    if (message.worker != nullptr && !message.source.is_service()) {
      Sender& sender = counter.senders[message.worker->id().index][message.source.process.value]
                                      [message.source.index];
      counter.wrong += number != sender.next++;
    }
    for (const std::byte byte : message.payload.subspan(sizeof number)) {
      counter.wrong += byte != static_cast<std::byte>(number);
    }
    ++counter.received;
    return true;
  }
};

bool send(Fabric& fabric, ThreadId to, std::uint64_t number, std::uint32_t bytes = 8) {
  SendSpace space(fabric, to.process, bytes);
  if (!space) return false;
  std::memset(space.payload(), static_cast<int>(number & 0xff), bytes);
  std::memcpy(space.payload(), &number, sizeof number);
  return space.commit(kTest, to);
}

void wait_for(Thread& self, const std::function<bool()>& done) {
  dtutils::Deadline deadline(std::chrono::seconds(20));
  dtutils::Backoff backoff;
  while (!done()) {
    require(!deadline.passed(), "everything arrives in time");
    self.progress() ? backoff.reset() : backoff.pause();
  }
}

/// Every worker sends `count` messages of `bytes` to every worker, itself included.
void all_to_all(Member& member, const Config& config, std::uint64_t count, std::uint32_t bytes) {
  Fabric fabric = member.join(config);
  Counter counter;
  fabric.set_dispatcher(kTest, {Counter::run, &counter});
  fabric.run([&](Thread& self) {
    for (std::uint64_t i = 0; i < count; ++i) {
      for (std::uint32_t to = 0; to < fabric.total_threads(); ++to) {
        require(send(fabric, fabric.thread_of_rank(to), i, bytes), "the peer lives");
      }
    }
    const std::uint64_t expected = count * fabric.total_threads() * config.threads;
    wait_for(self, [&] { return counter.received >= expected; });
    self.barrier();
    require_equal(counter.received.load(), expected, "messages");
    require_equal(counter.wrong.load(), 0u, "messages out of order or damaged");
  });
}

}  // namespace

TEST_CASE("small_messages_arrive_in_order") {
  ForkJob job(3, [](Member& member) {
    Config config;
    config.threads = 2;
    all_to_all(member, config, 2000, 8);
  });
  CHECK(job.wait(std::chrono::seconds(50)) == "");
}

TEST_CASE("large_messages_arrive_whole") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 2;
    all_to_all(member, config, 500, 4096 - sizeof(MessageHeader));
  });
  CHECK(job.wait(std::chrono::seconds(50)) == "");
}

TEST_CASE("several_queue_pairs_keep_each_threads_order") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 3;
    config.queue_pairs = 2;
    all_to_all(member, config, 500, 64);
  });
  CHECK(job.wait(std::chrono::seconds(50)) == "");
}

TEST_CASE("messages_arrive_without_service_threads") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    config.service_threads = 0;
    all_to_all(member, config, 2000, 100);
  });
  CHECK(job.wait(std::chrono::seconds(50)) == "");
}

TEST_CASE("few_receive_buffers_hold_senders_back_but_lose_nothing") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    config.receive_depth = 8;
    config.receive_limit = 32 * 4096;
    all_to_all(member, config, 3000, 8);
  });
  CHECK(job.wait(std::chrono::seconds(50)) == "");
}

TEST_CASE("messages_pile_up_at_a_worker_that_makes_no_progress") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 2;
    Fabric fabric = member.join(config);
    Counter counter;
    fabric.set_dispatcher(kTest, {Counter::run, &counter});
    constexpr std::uint64_t kCount = 3000;
    fabric.run([&](Thread& self) {
      if (self.id() == ThreadId{{0}, 0}) {
        // More than the receive queue holds: worker 0 of process 1 takes them in for worker 1.
        for (std::uint64_t i = 0; i < kCount; ++i) require(send(fabric, {{1}, 1}, i), "it lives");
      }
      if (self.id() == ThreadId{{1}, 1}) {
        // It may have run some while it waited for all workers to begin.
        const std::uint64_t before = counter.received;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        require(counter.received == before, "nobody else runs them");
        wait_for(self, [&] { return counter.received >= kCount; });
        require_equal(counter.wrong.load(), 0u, "messages out of order");
      }
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("service_messages_run_while_workers_do_something_else") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    Counter counter;
    fabric.set_dispatcher(kTest, {Counter::run, &counter});
    fabric.run([&](Thread& self) {
      self.barrier();
      if (member.rank == 0) {
        require(send(fabric, ThreadId::service_of({1}), 1), "it lives");
      } else {
        require(support::eventually([&] { return counter.received == 1; }), "it was served");
      }
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("short_lived_threads_may_send") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    Counter counter;
    fabric.set_dispatcher(kTest, {Counter::run, &counter});
    constexpr std::uint64_t kThreads = 40;
    fabric.run([&](Thread& self) {
      for (std::uint64_t i = 0; i < kThreads; i += 4) {
        std::vector<std::thread> threads;
        for (std::uint64_t k = 0; k < 4; ++k) {
          threads.emplace_back([&] { send(fabric, self.neighbour(1), 7, 1000); });
        }
        for (std::thread& thread : threads) thread.join();
      }
      wait_for(self, [&] { return counter.received >= kThreads; });
      self.barrier();
      require_equal(counter.wrong.load(), 0u, "damaged messages");
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("more_short_lived_threads_than_configured_are_refused") {
  ForkJob job(1, [](Member& member) {
    Config config;
    config.threads = 1;
    config.outside_threads = 1;
    Fabric fabric = member.join(config);
    std::string text;
    std::thread first([&] {
      fabric.progress();
      std::thread second([&] { text = support::error_text([&] { fabric.progress(); }); });
      second.join();
    });
    first.join();
    require(text.find("outside_threads") != std::string::npos, text);
    std::thread third([&] { fabric.progress(); });
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
  ForkJob job(1, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    Counter counter;
    fabric.set_dispatcher(kTest, {Counter::run, &counter});
    fabric.run([&](Thread& self) {
      { SendSpace space(fabric, {0}, 8); }
      { SendSpace space(fabric, {0}, 2000); }
      require(send(fabric, self.id(), 0), "it lives");
      wait_for(self, [&] { return counter.received == 1; });
    });
    require_equal(counter.received.load(), 1u, "messages");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("dispatchers_never_run_inside_each_other") {
  struct State {
    std::atomic<int> depth{0};
    std::atomic<int> deepest{0};
    std::atomic<int> ran{0};
    static bool run(void* context, const Incoming& message) {
      auto& state = *static_cast<State*>(context);
      state.deepest = std::max<int>(state.deepest, ++state.depth);
      // Sends to itself, and progress inside a dispatcher: taken in, not run.
      if (state.ran++ < 500) {
        (void)send(message.fabric, message.worker->id(), 0);
        (void)send(message.fabric, message.worker->id(), 0, 3000);
        message.worker->progress();
      }
      --state.depth;
      return true;
    }
  };
  ForkJob job(1, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    State state;
    fabric.set_dispatcher(kTest, {State::run, &state});
    fabric.run([&](Thread& self) {
      require(send(fabric, self.id(), 0), "it lives");
      wait_for(self, [&] { return state.ran == 1001; });
    });
    require_equal(state.deepest.load(), 1, "depth of dispatchers");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_synchronizer_hears_that_a_message_was_sent") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    Counter counter;
    fabric.set_dispatcher(kTest, {Counter::run, &counter});
    fabric.run([&](Thread& self) {
      dtutils::Synchronizer sent(2);
      for (const std::uint32_t bytes : {8u, 2000u}) {
        SendSpace space(fabric, self.neighbour(1).process, bytes);
        const std::uint64_t number = bytes == 8 ? 0 : 1;
        std::memset(space.payload(), static_cast<int>(number), bytes);
        std::memcpy(space.payload(), &number, sizeof number);
        require(space.commit(kTest, self.neighbour(1), &sent), "it lives");
      }
      require(sent.wait_for(std::chrono::seconds(10)) == dtutils::Synchronizer::Outcome::kDone,
              "both are sent");
      wait_for(self, [&] { return counter.received == 2; });
      self.barrier();
      require_equal(counter.wrong.load(), 0u, "damaged messages");
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("what_a_handler_throws_leaves_through_progress") {
  ForkJob job(1, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    bool thrown = false;
    int ran = 0;
    const std::function<bool()> handler = [&]() -> bool {
      if (++ran == 1) throw std::runtime_error("from the handler");
      return true;
    };
    fabric.set_dispatcher(kTest, {[](void* context, const Incoming&) {
                                    return (*static_cast<const std::function<bool()>*>(context))();
                                  },
                                  const_cast<std::function<bool()>*>(&handler)});
    fabric.run([&](Thread& self) {
      require(send(fabric, self.id(), 0) && send(fabric, self.id(), 1), "it lives");
      try {
        wait_for(self, [&] { return ran == 2; });
      } catch (const std::runtime_error&) {
        thrown = true;
      }
      wait_for(self, [&] { return ran == 2; });
    });
    require(thrown, "the exception arrived");
  });
  CHECK(job.wait() == "");
}
