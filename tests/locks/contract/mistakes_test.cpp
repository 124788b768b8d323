// SPDX-License-Identifier: MIT
// Mistakes of programs, each with an Error that says what to do.
#include <chrono>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "dsfabric/send_channel.hpp"
#include "locks/support/lock_job.hpp"
#include "riutils/fiber_pool.hpp"
#include "riutils/in_fiber.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using namespace locks;
using dsfabric::Thread;
using support::error_text;
using support::Member;
using support::options_of;
using support::require;
using support::require_equal;
using support::serve_until_word;

#define SCHEMES Ncosed, Dqnl, Dslr, Srsl

namespace {

void says(const std::string& text, const std::string& part) {
  require(text.find(part) != std::string::npos, "\"" + text + "\" should say \"" + part + "\"");
}

}  // namespace

TEMPLATE_TEST_CASE("mistakes_with_a_lock_are_errors_and_change_nothing", "", SCHEMES) {
  CHECK(support::run_members({.processes = 1}, [](Member&, Thread& self) {
          LockSpace space(self, options_of<TestType>());
          SharedMutex<TestType> mutex(space, LockId{{0}, 3});
          SharedMutex<TestType> again(space, LockId{{0}, 3});
          says(error_text([&] { mutex.unlock(); }), "it is not held");
          says(error_text([&] { mutex.unlock_shared(); }), "it is not held");
          mutex.lock();
          says(error_text([&] { mutex.unlock_shared(); }), "held exclusively");
          says(error_text([&] { mutex.lock(); }), "holds the lock already");
          says(error_text([&] { mutex.lock_shared(); }), "holds the lock already");
          says(error_text([&] { (void)mutex.try_lock(); }), "holds the lock already");
          says(error_text([&] { again.lock(); }), "by another object");
          says(error_text([&] { again.lock_shared(); }), "by another object");
          require(!again.try_lock(), "it is held");
          mutex.unlock();
          mutex.lock_shared();
          says(error_text([&] { mutex.unlock(); }), "held shared");
          says(error_text([&] { mutex.lock(); }), "cannot be upgraded");
          says(error_text([&] { again.lock(); }), "unlock it first");
          mutex.unlock_shared();
          const std::unique_lock all_is_well(again);
        }) == "");
}

TEST_CASE("locks_that_do_not_exist_other_schemes_and_too_many_locks_at_once_are_refused") {
  CHECK(support::run_members({.processes = 1}, [](Member&, Thread& self) {
          LockSpaceOptions options = options_of<Ncosed>(4);
          options.places = 2;
          LockSpace space(self, options);
          says(error_text([&] { SharedMutex<Ncosed>(space, LockId{{0}, 4}); }), "has 4 locks");
          says(error_text([&] { SharedMutex<Ncosed>(space, LockId{{1}, 0}); }), "of 1 processes");
          says(error_text([&] { SharedMutex<Dslr>(space, LockId{{0}, 0}); }), "another scheme");
          SharedMutex one(space, LockId{{0}, 0});
          SharedMutex two(space, LockId{{0}, 1});
          SharedMutex three(space, LockId{{0}, 2});
          one.lock();
          two.lock();
          says(error_text([&] { three.lock(); }), "LockSpaceOptions::places");
          one.unlock();
          three.lock();
          three.unlock();
          two.unlock();
        }) == "");
}

TEST_CASE("addresses_and_words_that_no_lock_can_have_are_refused") {
  CHECK(support::run_members({.processes = 1}, [](Member&, Thread& self) {
          LockSpace space(self, options_of<Ncosed>(4));
          const LockAddress good = space.address({{0}, 0});
          std::vector<LockAddress> bad(4, good);
          bad[0].memory.process = 1;
          bad[1].memory.address += 8;
          bad[2].memory.length = 8;
          bad[3] = {};
          for (const LockAddress& each : bad) {
            says(error_text([&] { SharedMutex<Ncosed>(space, each); }), "no words of a lock");
          }
          SharedMutex<Ncosed> mutex(space, good);
          const std::unique_lock lock(mutex);
          auto* const words = reinterpret_cast<LockWords*>(good.memory.address);
          auto* const between = reinterpret_cast<LockWords*>(good.memory.address + 8);
          says(error_text([&] { space.adopt({between, 1}); }), "no words of locks lie at");
          LockSpace messages(self, options_of<Srsl>(4));
          says(error_text([&] { messages.adopt({words, 1}); }), "Srsl have no words");
        }) == "");
}

TEST_CASE("timed_waits_take_all_times") {
  CHECK(support::run_members({.processes = 1}, [](Member&, Thread& self) {
          using namespace std::chrono;
          LockSpace space(self, options_of<Ncosed>(4));
          SharedMutex held(space, LockId{{0}, 1});
          SharedMutex other(space, LockId{{0}, 1});
          held.lock();
          for (const auto& early : {steady_clock::time_point::min(), steady_clock::time_point()}) {
            require(!other.try_lock_until(early), "the time is over");
            require(!other.try_lock_shared_until(early), "the time is over");
          }
          require(!other.try_lock_for(hours::min()), "no time");
          require(!other.try_lock_for(duration<double>(0.001)), "a time in seconds");
          require(!other.try_lock_shared_for(duration<float, std::milli>(0.5f)), "another one");
          // It is over when the lock is free, and not before.
          const auto long_wait = [&](auto&& wait) {
            dsfabric::SendChannel calls(self.fabric());
            const auto end = dtutils::Clock::now() + milliseconds(5);
            require(calls.call(self.id(),
                               [its = &held, end] {
                                 while (dtutils::Clock::now() < end) dtutils::cpu_pause();
                                 its->unlock();
                               }),
                    "posted");
            require(wait(), "it waits");
            other.unlock();
            held.lock();
          };
          long_wait([&] { return other.try_lock_for(nanoseconds::max()); });
          long_wait([&] { return other.try_lock_for(hours::max()); });
          long_wait([&] { return other.try_lock_for(duration<double>(1e300)); });
          long_wait([&] { return other.try_lock_until(steady_clock::time_point::max()); });
          long_wait([&] { return other.try_lock_until(system_clock::time_point::max()); });
          held.unlock();
        }) == "");
}

TEST_CASE("a_space_needs_a_service_thread_and_equal_options") {
  CHECK(support::run_job({.processes = 1, .service_threads = 0}, 0, [](Thread& self) {
          says(error_text([&] { const LockSpace space(self); }), "no service thread");
        }) == "");
  CHECK(support::run_members({.processes = 2}, [](Member& member, Thread& self) {
          const std::uint32_t locks = member.rank + 1;
          says(error_text([&] { const LockSpace space(self, {.locks = locks}); }), "other options");
          says(error_text([&] { const LockSpace space(self, {.places = 0}); }), "0 places");
          for (const std::uint32_t most : {1u << 28, UINT32_MAX}) {
            says(error_text([&] { const LockSpace space(self, {.locks = most}); }),
                 "LockSpaceOptions::locks");
          }
          says(error_text([&] { const LockSpace space(self, {.places = UINT32_MAX}); }),
               "LockSpaceOptions::places");
          const std::chrono::hours lease(locks);
          says(error_text([&] { const LockSpace space(self, {.lease = lease}); }), "other options");
          says(error_text([&] { const LockSpace space(self, {.lease = -lease}); }), "a lease of -");
        }) == "");
}

TEMPLATE_TEST_CASE("handlers_that_wait_for_a_lock_are_fibers_and_what_others_throw_leaves_lock", "",
                   SCHEMES) {
  CHECK(support::run_members({.processes = 2}, [](Member& member, Thread& self) {
          const riutils::FiberPool pool(self);
          LockSpace space(self, options_of<TestType>());
          dsfabric::DistributedObject<LockSpace> spaces(self, space);
          SharedMutex<TestType> mutex(space, LockId{{0}, 0});
          dsfabric::SendChannel calls(self.fabric());
          const dsfabric::ThreadId other{{1}, 0};
          const bool holder = member.rank == 0;
          support::count_waiters(member.memory.words[0]);
          if (holder) mutex.lock();
          self.barrier();
          member.memory.words[0] = 0;
          self.barrier();
          if (holder) {
            const auto lock_there = [there = spaces.on(other)](dsfabric::CallContext& call) {
              SharedMutex<TestType> inner(*there.get(call.fabric), LockId{{0}, 0});
              const std::unique_lock lock(inner);
              return 1;
            };
            const auto text = error_text([&] { (void)calls.call_return(other, lock_there).get(); });
            says(text, "inline handler would have to wait");
            auto first = calls.call_return(other, riutils::in_fiber(lock_there));
            auto second = calls.call_return(other, riutils::in_fiber(lock_there));
            // Its thread serves others while the two wait.
            serve_until_word(member, self, 0, 2);
            require_equal(calls.call_return(other, [] { return 7; }).get(), 7, "served");
            require(!first.ready() && !second.ready(), "both wait");
            mutex.unlock();
            require_equal(first.get() + second.get(), 2, "both had it");
            mutex.lock();
            member.memory.words[0] = 0;
          }
          self.barrier();
          if (holder) {
            serve_until_word(member, self, 0, 1);
            require(calls.call(other, [] { throw std::runtime_error("no bread left"); }) ==
                        dsfabric::CallStatus::kAccepted,
                    "sent");
            require_equal(calls.call_return(other, [] { return 8; }).get(), 8, "it has thrown");
            mutex.unlock();
          } else {
            std::string text;
            try {
              mutex.lock();
            } catch (const std::runtime_error& thrown) {
              text = thrown.what();
            }
            says(text, "no bread left");
            require(!mutex.held(), "it does not hold it");
          }
          self.barrier();
          mutex.lock();  // nobody has it
          mutex.unlock();
          self.barrier();
        }) == "");
}

TEST_CASE("who_asks_a_server_or_waits_for_one_that_left_the_space_is_told") {
  CHECK(support::run_members({.processes = 3}, [](Member& member, Thread& self) {
          support::count_waiters(member.memory.words[0]);
          std::optional<LockSpace> space(std::in_place, self, options_of<Srsl>());
          if (member.rank == 0) {
            self.barrier();
            // One has the lock, and one waits for it.
            serve_until_word(member, self, 0, 2);
            space.reset();
            self.barrier();
            self.barrier();
            return;
          }
          SharedMutex<Srsl> mutex(*space, LockId{{0}, 0});
          SharedMutex<Srsl> other(*space, LockId{{0}, 1});
          if (member.rank == 1) mutex.lock();
          self.barrier();
          if (member.rank == 2) {
            says(error_text([&] { mutex.lock(); }), "its workers have left");
            require(!mutex.held(), "it does not hold it");
          }
          self.barrier();
          if (member.rank == 1) mutex.unlock();
          // More often than there are places.
          for (int i = 0; i < 100; ++i) {
            says(error_text([&] { other.lock(); }), "its workers have left");
            says(error_text([&] { other.lock_shared(); }), "its workers have left");
            says(error_text([&] { (void)other.try_lock(); }), "its workers have left");
          }
          self.barrier();
        }) == "");
}
