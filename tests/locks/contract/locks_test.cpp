// SPDX-License-Identifier: MIT
// All schemes: exclusion, readers together, std::unique_lock and std::shared_lock, try_lock, order.
#include <chrono>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "dsfabric/send_channel.hpp"
#include "locks/support/lock_job.hpp"
#include "riutils/fiber_pool.hpp"
#include "riutils/in_fiber.hpp"
#include "support/catch.hpp"

using namespace locks;
using dsfabric::Thread;
using locks::detail::Mode;
using locks::detail::Point;
using support::AtPoint;
using support::Member;
using support::options_of;
using support::require;
using support::require_equal;
using support::serve_until_word;

#define SCHEMES Ncosed, Dqnl, Dslr, Srsl

TEMPLATE_TEST_CASE("no_two_hold_a_lock_and_readers_hold_it_together", "", SCHEMES) {
  constexpr std::uint32_t kRounds = 40;
  support::History history;
  CHECK(support::run_members({.processes = 2, .threads = 2}, [&](Member&, Thread& self) {
          LockSpace space(self, options_of<TestType>());
          SharedMutex<TestType> mutex(space, LockId{{1}, 3});
          const std::uint32_t me = self.fabric().rank_of(self.id());
          for (std::uint32_t i = 0; i < kRounds; ++i) {
            if ((i + me) % 3 == 0) {
              const std::shared_lock lock(mutex);
              history.enter(3, me, false);
              history.leave(3, me);
            } else {
              const std::unique_lock lock(mutex);
              require(!mutex.owner_died(), "nobody died");
              history.enter(3, me, true);
              history.leave(3, me);
            }
          }
          self.barrier();
          if (TestType::kScheme != Scheme::kDqnl) {  // which has no readers
            mutex.lock_shared();
            self.barrier();  // it would not end if one of them waited for another
            mutex.unlock_shared();
          }
          self.barrier();
          require(me != 0 || mutex.try_lock(), "all have released");
          if (mutex.held()) mutex.unlock();
          self.barrier();
        }) == "");
  CHECK(history.acquisitions() == 4 * kRounds);
}

TEMPLATE_TEST_CASE("a_request_that_waits_for_a_holder_is_counted_once", "", SCHEMES) {
  CHECK(support::run_members({.processes = 2}, [&](Member& member, Thread& self) {
          LockSpace space(self, options_of<TestType>());
          SharedMutex<TestType> mutex(space, LockId{{0}, 5});
          if (member.rank == 0) mutex.lock();
          self.barrier();
          if (member.rank == 0) {
            // Longer than a waiter looks without a pause, and than its longest pause.
            const auto end = dtutils::Clock::now() + std::chrono::milliseconds(20);
            support::serve_until(self, [&] { return dtutils::Clock::now() >= end; });
            mutex.unlock();
          } else {
            mutex.lock();
            require_equal(space.counters().waited, std::uint64_t{1}, "it has waited");
            mutex.unlock();
          }
          require_equal(space.counters().requested, std::uint64_t{1}, "one request each");
          self.barrier();
        }) == "");
}

namespace {

/// Two workers add one to a word of the home in turn; `unlock(mutex, home)` behind each write.
template <class M, class Unlock>
void add_in_turn(Unlock unlock) {
  constexpr std::uint64_t kRounds = 200;
  CHECK(support::run_members({.processes = 3}, [&](Member& member, Thread& self) {
          LockSpace space(self, options_of<M>());
          SharedMutex<M> mutex(space, LockId{{0}, 1});
          dsfabric::Fabric& fabric = self.fabric();
          dtutils::RDMAMemory memory =
              fabric.general_allocator().allocate(2 * sizeof(std::uint64_t));
          std::memset(memory.data(), 0, memory.size());
          const auto word = self.broadcast(memory.remote(), {{0}, 0});
          dtutils::Transmitter& home = self.transmitter({0});
          std::uint64_t& number = *reinterpret_cast<std::uint64_t*>(memory.data() + 8);
          for (std::uint64_t i = 0; member.rank != 0 && i < kRounds; ++i) {
            mutex.lock();
            require(home.blocking_read(memory.local(8, 8), word.part(0, 8)), "read");
            ++number;
            require(home.write({&number, sizeof number, 0}, word.part(0, 8), dtutils::kInlined),
                    "write");
            unlock(mutex, home);
          }
          self.barrier();
          if (member.rank == 0) {
            require(home.blocking_read(memory.local(8, 8), word.part(0, 8)), "read");
            require_equal(number, 2 * kRounds, "no addition is lost");
          }
          self.barrier();
        }) == "");
}

}  // namespace

TEMPLATE_TEST_CASE("what_a_holder_has_flushed_is_there_for_the_next", "", SCHEMES) {
  add_in_turn<TestType>([](auto& mutex, dtutils::Transmitter& home) {
    require(home.flush(), "flush");
    mutex.unlock();
  });
}

TEST_CASE("what_was_posted_to_the_home_before_unlock_behind_is_there_for_the_next") {
  add_in_turn<Ncosed>([](auto& mutex, dtutils::Transmitter& /*home*/) {
    require(mutex.unlock_behind(), "the home lives");
    require(!mutex.held(), "it was given back");
  });
}

TEMPLATE_TEST_CASE("try_lock_takes_what_is_free_and_waits_for_nobody", "", SCHEMES) {
  CHECK(support::run_members({.processes = 2}, [](Member& member, Thread& self) {
          using namespace std::chrono_literals;
          LockSpace space(self, options_of<TestType>());
          SharedMutex<TestType> mutex(space, LockId{{0}, 1});
          const bool holder = member.rank == 0;
          if (holder) require(mutex.try_lock(), "it is free");
          self.barrier();
          if (!holder) {
            require(!mutex.try_lock(), "it is held");
            require(!mutex.try_lock_shared(), "it is held, for readers too");
            const auto begin = dtutils::Clock::now();
            require(!mutex.try_lock_for(5ms), "for a while");
            require(dtutils::Clock::now() - begin >= 5ms, "it tried as long");
            require(!mutex.try_lock_shared_until(dtutils::Clock::now()), "no time");
          }
          self.barrier();
          if (holder) {
            mutex.unlock();
            require(mutex.try_lock_shared(), "free again");
          }
          self.barrier();
          if (!holder) {
            require(!mutex.try_lock(), "a reader has it");
            // DQNL has no readers.
            require(mutex.try_lock_shared() == (TestType::kScheme != Scheme::kDqnl), "readers");
            if (mutex.held()) mutex.unlock_shared();
            member.memory.words[0] = 1;
            std::unique_lock lock(mutex, std::defer_lock);
            require(lock.try_lock_for(10s), "it comes free before the time is over");
          } else {
            serve_until_word(member, self, 0, 1);
            mutex.unlock_shared();
          }
          self.barrier();
        }) == "");
}

namespace {

/// What counts those that stand in the queue.
support::PerProcess<std::atomic<std::uint64_t>*> waiting;

}  // namespace

TEMPLATE_TEST_CASE("requests_are_served_in_the_order_in_which_they_came", "", SCHEMES) {
  // Of process 0, which holds the lock, and of those behind it, one after the other. A reader waits
  // for the exclusive requests before it, and for none that came later.
  static constexpr Mode kX = Mode::kExclusive, kS = Mode::kShared;
  static constexpr Mode kCases[][4] = {{kX, kX, kX, kX}, {kX, kS, kS, kX}, {kX, kS, kX, kS}};
  CHECK(support::run_members({.processes = 4}, [](Member& member, Thread& self) {
          LockSpace space(self, options_of<TestType>());
          const std::uint32_t me = member.rank;
          for (std::uint32_t i = 0; i < std::size(kCases); ++i) {
            SharedMutex<TestType> mutex(space, LockId{{0}, i});
            std::atomic<std::uint64_t>& served = member.memory.words[2 * i];
            *waiting = &member.memory.words[2 * i + 1];
            if (me == 0) mutex.lock();
            self.barrier();
            serve_until_word(member, self, 2 * i + 1, me == 0 ? 3 : me - 1);
            // Also where a request is a message: what the home executes later came later.
            *AtPoint::hook = [&self, told = false](Point reached) mutable {
              if (told || reached != Point::kTold) return;
              told = true;
              require(dsfabric::SendChannel(self.fabric())
                              .call(dsfabric::ThreadId::service_of({0}), [] { ++**waiting; }) ==
                          dsfabric::CallStatus::kAccepted,
                      "sent");
            };
            const bool shared = kCases[i][me] == kS;
            if (me != 0) shared ? mutex.lock_shared() : mutex.lock();
            const std::uint64_t place = served++;
            if (shared && kCases[i][2] == kS) {
              require(place == 1 || place == 2, "before the one that came later");
            } else {
              require_equal(place, std::uint64_t{me}, "place in the order");
            }
            shared ? mutex.unlock_shared() : mutex.unlock();
            *AtPoint::hook = nullptr;
            self.barrier();
          }
        }) == "");
}

TEST_CASE("more_readers_than_a_mailbox_holds_get_the_lock") {
  constexpr std::uint32_t kEach = 20;
  static_assert(2 * kEach > detail::kReaders + 1);
  support::History history;
  CHECK(support::run_members({.processes = 2}, [&](Member& member, Thread& self) {
          LockSpace space(self, options_of<Ncosed>());
          const riutils::FiberPool pool(self);
          SharedMutex mutex(space, LockId{{0}, 5});
          support::count_waiters(member.memory.words[0]);
          dsfabric::SendChannel calls(self.fabric());
          if (member.rank == 0) mutex.lock();
          self.barrier();
          member.memory.words[0] = 0;
          self.barrier();
          std::vector<dsfabric::RemoteFuture<void>> all;
          for (std::uint32_t i = 0; i < kEach; ++i) {
            const auto lock_twice = [space = &space, history = &history,
                                     holder = member.rank * kEach + i] {
              SharedMutex inner(*space, LockId{{0}, 5});
              {
                const std::shared_lock lock(inner);
                history->enter(5, holder, false);
                history->leave(5, holder);
              }
              const std::unique_lock lock(inner);
              history->enter(5, holder, true);
              history->leave(5, holder);
            };
            all.push_back(calls.call_return(self.id(), riutils::in_fiber(lock_twice)));
          }
          if (member.rank == 0) {
            // The first one beyond is counted twice: as a reader, and as what it becomes. The rest
            // stand behind it.
            serve_until_word(member, self, 0, 2 * kEach + 1);
            mutex.unlock();
          }
          for (auto& one : all) one.get();
          self.barrier();
        }) == "");
  CHECK(history.acquisitions() == 4 * kEach);
}

TEST_CASE("words_of_locks_may_lie_in_other_memory_and_full_counters_of_dslr_are_reset") {
  CHECK(support::run_members({.processes = 2}, [&](Member& member, Thread& self) {
          LockSpace space(self, options_of<Dslr>(0));
          dsfabric::SymmetricBuffer memory(self, 2 * sizeof(LockWords));
          auto* const words = reinterpret_cast<LockWords*>(memory.data());
          // As after many requests, all of which were served: one counter is almost full.
          constexpr std::uint64_t kServed = Dslr::kCountMax - 10;
          words[0] = {kServed << 32 | kServed, 0};
          words[1] = {kServed << 48 | kServed << 16, 0};
          space.adopt({words, 2});
          self.barrier();
          for (std::uint32_t i = 0; i < 2; ++i) {
            LockAddress address{memory.at({{0}, 0}).part(i * sizeof(LockWords), sizeof(LockWords))};
            address.memory.process = 0;
            SharedMutex<Dslr> mutex(space, address);
            for (std::uint32_t n = 0; n < 25; ++n) {
              if (i == 0) {
                const std::shared_lock lock(mutex);
              } else {
                const std::unique_lock lock(mutex);
              }
            }
          }
          self.barrier();
          if (member.rank == 0) {
            for (const LockWords* lock : {&words[0], &words[1]}) {
              require(lock->word >> 32 == (lock->word & 0xffff'ffff), "free at the end");
            }
            require(words[0].word % 0x1'0000 < 100 && words[1].word >> 48 < 100, "from zero");
          }
          self.barrier();
        }) == "");
}
