// SPDX-License-Identifier: MIT
// Calls by messages between processes: all of the family, results, exceptions, refusals.
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "dsfabric/support/fork_job.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::error_text;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

namespace {

/// What calls leave behind in the process where they run.
struct Ledger {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> sum{0};
  std::atomic<std::uint64_t> wrong{0};
};
Ledger& ledger() {
  static Ledger one;
  return one;
}

void has(const std::string& text, const std::string& part) {
  require(text.find(part) != std::string::npos, "\"" + text + "\" should hold \"" + part + "\"");
}

/// Runs the job as it is, and under the adversary.
void in_every_mode(std::uint32_t processes, std::uint32_t threads,
                   const std::function<void(Thread&)>& work, std::uint32_t service_threads = 1) {
  const auto seed = support::test_seed() | 1;
  for (const bool adversary : {false, true}) {
    INFO((adversary ? "adversary, seed " : "no adversary, seed ") << seed);
    ForkJob job(processes, [&](Member& member) {
      if (adversary) {
        setenv("CARIAMA_SHM_ADVERSARY", std::to_string(seed).c_str(), 1);
      } else {
        unsetenv("CARIAMA_SHM_ADVERSARY");
      }
      Config config;
      config.threads = threads;
      config.service_threads = service_threads;
      Fabric fabric = member.join(config);
      fabric.run(work);
    });
    CHECK(job.wait() == "");
  }
}

void serve_until(Thread& self, const std::function<bool()>& done) {
  dtutils::Deadline deadline(std::chrono::seconds(20));
  dtutils::Backoff backoff;
  while (!done()) {
    require(!deadline.passed(), "what was awaited did not come");
    self.progress() ? backoff.reset() : backoff.pause();
  }
}

dtutils::RDMAMemory filled(Thread& self, std::size_t bytes, int first) {
  auto memory = self.fabric().general_allocator().allocate(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    memory.data()[i] = static_cast<std::byte>(static_cast<std::size_t>(first) + i * 7);
  }
  return memory;
}

bool is_filled(const std::byte* data, std::size_t bytes, int first) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] != static_cast<std::byte>(static_cast<std::size_t>(first) + i * 7)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("handlers_call_through_a_channel_that_waits_for_room") {
  in_every_mode(2, 1, [](Thread& self) {
    static SendChannel* channel = nullptr;
    SendChannel calls(self.fabric());
    channel = &calls;
    constexpr std::uint64_t kCalls = 3000;
    self.barrier();
    for (std::uint64_t i = 0; i < kCalls; ++i) {
      const bool sent = calls.call(self.neighbour(1), [i](CallContext& call) {
        require(channel->call(call.source, [i] { ++ledger().calls, ledger().sum += i; }),
                "the answer is sent");
      });
      require(sent, "the call is sent");
    }
    serve_until(self, [] { return ledger().calls == kCalls; });
    require_equal(ledger().sum.load(), kCalls * (kCalls - 1) / 2, "the sum of all answers");
    self.barrier();
  });
}

TEST_CASE("call_runs_once_at_the_worker_it_names") {
  in_every_mode(3, 2, [](Thread& self) {
    SendChannel calls(self.fabric());
    for (std::uint32_t rank = 0; rank < self.fabric().total_threads(); ++rank) {
      const ThreadId to = self.fabric().thread_of_rank(rank);
      const bool sent = calls.call(to, [to, from = self.id()](CallContext& call) {
        const bool right = call.worker != nullptr && call.worker->id() == to &&
                           call.source == from && call.fabric.current_thread() == call.worker;
        ledger().wrong += !right;
        ++ledger().calls;
      });
      require(sent, "the call is sent");
    }
    serve_until(self, [] { return ledger().calls == 2 * 6; });
    self.barrier();
    require_equal(ledger().wrong.load(), 0u, "calls that ran somewhere else");
    require_equal(ledger().calls.load(), 12u, "calls");
  });
}

TEST_CASE("calls_from_one_thread_to_another_keep_their_order") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    for (std::uint64_t i = 0; i < 3000; ++i) {
      require(calls.call(self.neighbour(1), [i] { ledger().wrong += ledger().calls++ != i; }),
              "the call is sent");
    }
    serve_until(self, [] { return ledger().calls == 3000; });
    self.barrier();
    require_equal(ledger().wrong.load(), 0u, "calls out of order");
  });
}

TEST_CASE("service_call_runs_without_a_worker") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    const ProcessId other = self.neighbour(1).process;
    require(calls.call(ThreadId::service_of(other),
                       [](CallContext& call) {
                         ledger().wrong += call.worker != nullptr;
                         ++ledger().calls;
                       }),
            "the call is sent");
    // Only looks: the service thread does the work.
    dtutils::Deadline deadline(std::chrono::seconds(20));
    dtutils::Backoff backoff;
    while (ledger().calls == 0 && !deadline.passed()) backoff.pause();
    require_equal(ledger().calls.load(), 1u, "service calls");
  });
}

TEST_CASE("service_call_runs_in_waiting_workers_when_there_is_no_service_thread") {
  in_every_mode(
      2, 1,
      [](Thread& self) {
        SendChannel calls(self.fabric());
        ReturnSlot<std::uint32_t> slot(self.fabric());
        const ProcessId other = self.neighbour(1).process;
        require(calls.call_return(
                    ThreadId::service_of(other), [] { return 11u; }, slot),
                "sent");
        require_equal(slot.get(), 11u, "result");
        self.barrier();
      },
      0);
}

TEST_CASE("sent_synchronizer_tells_of_transmission") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    dtutils::Synchronizer sent(100);
    for (int i = 0; i < 100; ++i) {
      require(calls.call(
                  self.neighbour(1), [] { ++ledger().calls; }, &sent),
              "sent");
    }
    require(sent.wait() == dtutils::Synchronizer::Outcome::kDone, "all are transmitted");
    serve_until(self, [] { return ledger().calls == 100; });
    self.barrier();
  });
}

TEST_CASE("buffer_travels_with_the_call") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    for (const std::uint32_t bytes : {0u, 1u, 7u, 8u, 100u, 255u, 1000u, 3900u}) {
      const auto memory = filled(self, bytes + 1, static_cast<int>(bytes));
      require(calls.call_buffer(
                  self.neighbour(1),
                  [bytes](CallContext&, const std::byte* data, std::uint32_t size) {
                    ledger().wrong += size != bytes || !is_filled(data, size, int(bytes));
                    ++ledger().calls;
                  },
                  std::span<const std::byte>(memory.data(), bytes)),
              "sent");
    }
    serve_until(self, [] { return ledger().calls == 8; });
    self.barrier();
    require_equal(ledger().wrong.load(), 0u, "wrong buffers");
  });
}

TEST_CASE("call_larger_than_a_receive_buffer_is_refused_at_the_sender") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    const std::vector<std::byte> large(self.fabric().max_message() + 1);
    has(error_text([&] {
          (void)calls.call_buffer(
              self.neighbour(1), [](CallContext&, std::byte*, std::uint32_t) {}, large);
        }),
        "receive_size");
    ReturnSlot<int> slot(self.fabric());
    require(calls.call_return(
                self.neighbour(1), [] { return 5; }, slot),
            "the next one is sent");
    require_equal(slot.get(), 5, "result");
    self.barrier();
  });
}

TEST_CASE("unknown_thread_is_refused_at_the_sender") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    for (const ThreadId to : {ThreadId{{0}, 7}, ThreadId{{9}, 0}, ThreadId::service_of({9})}) {
      has(error_text([&] { (void)calls.call(to, [] {}); }), "no such");
      // The slot is free for another call.
      ReturnSlot<int> slot(self.fabric());
      has(error_text([&] {
            (void)calls.call_return(
                to, [] { return 1; }, slot);
          }),
          "no such");
      require(calls.call_return(
                  self.neighbour(1), [] { return 2; }, slot),
              "sent");
      require_equal(slot.get(), 2, "result");
    }
    self.barrier();
  });
}

TEST_CASE("buffer_is_written_to_its_destination_before_the_call_runs") {
  in_every_mode(2, 1, [](Thread& self) {
    static constexpr std::uint32_t kBytes = 100'000;
    SymmetricBuffer buffer(self, kBytes);
    SendChannel calls(self.fabric());
    for (int round = 0; round < 20; ++round) {
      const auto memory = filled(self, kBytes, round);
      dtutils::Synchronizer sent(1);
      const ThreadId to = self.neighbour(1);
      require(calls.call_buffer(
                  to,
                  [round](CallContext&, const std::byte* data, std::uint32_t bytes) {
                    ledger().wrong += bytes != kBytes || !is_filled(data, bytes, round);
                    ++ledger().calls;
                  },
                  memory.local(), buffer.at(to), &sent),
              "sent");
      require(sent.wait() == dtutils::Synchronizer::Outcome::kDone, "transmitted");
      serve_until(self, [&] { return ledger().calls == std::uint64_t(round) + 1; });
      self.barrier();
    }
    require_equal(ledger().wrong.load(), 0u, "wrong buffers");
  });
}

TEST_CASE("buffer_is_read_by_the_destination_or_a_service_thread") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    ReturnSlot<void> executed(self.fabric());
    const ThreadId to = self.neighbour(1);
    const auto check = [to](CallContext& call, const std::byte* data, std::uint32_t bytes) {
      const bool here = call.worker != nullptr && call.worker->id() == to;
      ledger().wrong += !here || call.source.process == to.process || !is_filled(data, bytes, 3);
      ledger().sum += bytes;
    };
    std::uint64_t sum = 0;
    for (const std::uint32_t bytes : {1u, 4000u, 300'000u}) {
      const auto memory = filled(self, bytes, 3);
      sum += 2 * memory.size();
      require(calls.call_buffer(to, check, memory, executed), "sent");
      executed.get();
      require(calls.call_buffer(to, check, memory, executed, ReadOn::kServiceThread), "sent");
      executed.get();
    }
    self.barrier();
    require_equal(ledger().sum.load(), sum, "bytes read");
    require_equal(ledger().wrong.load(), 0u, "wrong buffers");
  });
}

TEST_CASE("results_of_any_size_come_home") {
  in_every_mode(3, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    struct Medium {
      std::array<std::uint32_t, 30> words;
    };
    struct Large {
      std::array<std::uint32_t, 5000> words;
    };
    ReturnSlot<std::uint8_t> byte(self.fabric());
    ReturnSlot<std::uint64_t> word(self.fabric());
    ReturnSlot<Medium> medium(self.fabric());
    ReturnSlot<Large> large(self.fabric());
    ReturnSlot<void> nothing(self.fabric());
    for (std::uint32_t i = 0; i < 60; ++i) {
      const ThreadId to = self.fabric().thread_of_rank(i % 3);
      require(calls.call_return(
                  to, [i] { return std::uint8_t(i); }, byte),
              "sent");
      require_equal(std::uint32_t{byte.get()}, i, "byte");
      require(calls.call_return(
                  to, [i] { return std::uint64_t{i} << 40; }, word),
              "sent");
      require_equal(word.get(), std::uint64_t{i} << 40, "word");
      const auto fill = [i](auto& value) { std::iota(value.words.begin(), value.words.end(), i); };
      const auto check = [i](const auto& value) {
        for (std::uint32_t k = 0; k < value.words.size(); ++k) {
          require_equal(value.words[k], i + k, "element");
        }
      };
      require(calls.call_return(
                  to,
                  [fill] {
                    Medium m;
                    fill(m);
                    return m;
                  },
                  medium),
              "sent");
      check(medium.get());
      require(calls.call_return(
                  to,
                  [fill] {
                    Large m;
                    fill(m);
                    return m;
                  },
                  large),
              "sent");
      check(large.get());
      require(calls.call_return(
                  to, [] { ++ledger().calls; }, nothing),
              "sent");
      nothing.get();
    }
    self.barrier();
    require_equal(ledger().calls.load(), 60u, "calls without a result");
  });
}

TEST_CASE("exception_of_a_call_is_thrown_where_its_result_is_awaited") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    ReturnSlot<int> slot(self.fabric());
    for (int i = 0; i < 3; ++i) {
      const auto fail = []() -> int { throw std::runtime_error("no bread left"); };
      require(calls.call_return(self.neighbour(1), fail, slot), "sent");
      has(error_text([&] { slot.get(); }), "no bread left");
      require(calls.call_return(
                  self.neighbour(1), []() -> int { throw 7; }, slot),
              "sent");
      has(error_text([&] { slot.get(); }), "no std::exception");
      require(calls.call_return(
                  self.neighbour(1), [] { return 3; }, slot),
              "sent");
      require_equal(slot.get(), 3, "the slot works on");
    }
    const auto verbose = []() -> int { throw std::runtime_error(std::string(5000, 'x')); };
    require(calls.call_return(self.neighbour(1), verbose, slot), "sent");
    has(error_text([&] { slot.get(); }), std::string(118, 'x'));
    self.barrier();
  });
}

TEST_CASE("workers_that_wait_for_each_other_serve_each_other") {
  in_every_mode(4, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    ReturnSlot<std::uint32_t> slot(self.fabric());
    for (std::uint32_t i = 0; i < 200; ++i) {
      const ThreadId to = self.fabric().thread_of_rank((self.id().process.value + i) % 4);
      require(calls.call_return(
                  to, [i] { return i; }, slot),
              "sent");
      require_equal(slot.get(), i, "result");
    }
    self.barrier();
  });
}

TEST_CASE("callable_calls_back_from_where_it_runs") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    require(calls.call(self.neighbour(1),
                       [](CallContext& call) {
                         SendChannel back(call.fabric);
                         const bool sent = back.call(call.source, [] { ++ledger().calls; });
                         ledger().wrong += !sent;
                       }),
            "sent");
    serve_until(self, [] { return ledger().calls == 1; });
    self.barrier();
    require_equal(ledger().wrong.load(), 0u, "refused calls");
  });
}

TEST_CASE("thread_that_is_no_worker_calls_out_without_any_set_up") {
  in_every_mode(2, 1, [](Thread& self) {
    std::thread outside([&] {
      SendChannel calls(self.fabric());
      ReturnSlot<int> slot(self.fabric());
      for (int i = 0; i < 50; ++i) {
        ledger().wrong += !calls.call_return(
            self.neighbour(1), [i] { return i; }, slot);
        ledger().wrong += slot.get() != i;
      }
      ++ledger().calls;
    });
    serve_until(self, [] { return ledger().calls == 1; });
    outside.join();
    self.barrier();
    require_equal(ledger().wrong.load(), 0u, "wrong results");
  });
}

TEST_CASE("same_object_is_found_on_every_thread") {
  in_every_mode(2, 2, [](Thread& self) {
    struct Counter {
      std::uint64_t value = 0;
    } mine;
    SameObject<Counter> counters(self, mine);
    SendChannel calls(self.fabric());
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      const ThreadId to = self.fabric().thread_of_rank(rank);
      const auto there = counters.on(to);
      require(there.get(self.fabric()) == nullptr || to.process == self.id().process,
              "only the owner gets the pointer");
      require(calls.call(to, [there, rank](
                                 CallContext& call) { there.get(call.fabric)->value += rank + 1; }),
              "sent");
    }
    const std::uint64_t rank = self.fabric().rank_of(self.id());
    serve_until(self, [&] { return mine.value == 4 * (rank + 1); });
    self.barrier();
  });
}

TEST_CASE("corrupt_record_fails_its_sender_and_nobody_else") {
  ForkJob job(3, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    try {
      fabric.run([&](Thread& self) {
        if (member.rank == 2) {
          SendSpace space(fabric, ProcessId{0}, 64);
          require(static_cast<bool>(space), "there is space");
          const RecordHeader header{FunctionTable::instance().size() + 5, 8};
          std::memset(space.payload(), 0, 64);
          std::memcpy(space.payload(), &header, sizeof header);
          require(space.commit(MessageKind::kCall, ThreadId{{0}, 0}), "sent");
          serve_until(self, [] { return false; });
        } else if (member.rank == 0) {
          serve_until(self, [&] { return fabric.failed(ProcessId{2}); });
          has(fabric.failure_reason(ProcessId{2}), "cannot be right");
          // The other one is well.
          SendChannel calls(fabric);
          ReturnSlot<int> slot(fabric);
          require(calls.call_return(
                      ThreadId{{1}, 0}, [] { return 4; }, slot),
                  "sent");
          require_equal(slot.get(), 4, "result");
          require(!calls.call_return(
                      ThreadId{{2}, 0}, [] { return 4; }, slot),
                  "refused");
          has(error_text([&] { slot.get(); }), "is gone");
          member.memory.words[0] = 1;
        } else {
          serve_until(self, [&] { return member.memory.words[0] == 1; });
        }
      });
    } catch (const PeerFailed&) {
    }
    if (member.rank == 0) require(member.memory.words[0] == 1, "rank 0 got through");
  });
  dtutils::Deadline deadline(std::chrono::seconds(20));
  while (job.memory().words[0] != 1 && !deadline.passed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(job.memory().words[0] == 1);
  job.kill(2);
  job.wait();
}

TEST_CASE("killed_destination_ends_every_wait_for_it") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    try {
      fabric.run([&](Thread& self) {
        if (member.rank == 1) {
          member.memory.words[0] = 1;
          for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));  // serves nothing
        }
        serve_until(self, [&] { return member.memory.words[0] == 1; });
        SendChannel calls(fabric);
        ReturnSlot<int> slot(fabric);
        require(calls.call_return(
                    ThreadId{{1}, 0}, [] { return 1; }, slot),
                "sent");
        member.memory.words[1] = 1;
        has(error_text([&] { slot.get(); }), "is gone");
        dtutils::Synchronizer sent(1);
        require(!calls.call(
                    ThreadId{{1}, 0}, [] {}, &sent),
                "refused");
        require(sent.wait() == dtutils::Synchronizer::Outcome::kFailed, "and said so");
        member.memory.words[2] = 1;
      });
    } catch (const PeerFailed&) {
    }
  });
  while (job.memory().words[1] != 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  job.kill(1);
  const auto begin = std::chrono::steady_clock::now();
  while (job.memory().words[2] != 1 &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(job.memory().words[2] == 1);
  job.wait();
}
