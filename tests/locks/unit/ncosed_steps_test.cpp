// SPDX-License-Identifier: MIT
// Ncosed where others come between two atomics of one request.
#include <chrono>
#include <cstdint>

#include "dtutils/device_memory.hpp"
#include "locks/support/simulated_locks.hpp"
#include "support/catch.hpp"

using namespace locks;
using namespace locks::detail;
using namespace std::chrono_literals;
using support::run_nodes;
using support::serve_while_waiting;
using support::SimulatedPoint;

TEST_CASE("a_holder_that_releases_waits_for_a_reader_that_the_word_counts_and_that_has_not_told") {
  bool holds = false;
  bool counted = false;
  bool read = false;
  CHECK(run_nodes<Ncosed>(2, [&](dsfabric::Thread& self, LockSpace& space) {
          SharedMutex<Ncosed> mutex(space, LockId{{0}, 1});
          const auto* const word =
              reinterpret_cast<const std::uint64_t*>(mutex.address().memory.address);
          if (self.id().process.value == 0) {
            mutex.lock();
            holds = true;
            serve_while_waiting(self, [&] { return counted; });
            mutex.unlock();
            serve_while_waiting(self, [&] { return read; });
            return;
          }
          serve_while_waiting(self, [&] { return holds; });
          SimulatedPoint::hook = [&](Point reached) {
            if (reached != Point::kPlaced) return;
            counted = true;
            // The holder has left the word. The nodes share the memory of the test.
            support::await([&] { return !is_place(high(dtutils::load_device_word(word))); });
            dtutils::sleep_for(1ms);
          };
          mutex.lock_shared();
          mutex.unlock_shared();
          read = true;
        }) == "");
  CHECK(read);
}

TEST_CASE("try_lock_does_not_take_a_lock_from_a_reader_that_came_between_its_atomics") {
  // The word counts a reader that has released. Between two atomics of try_lock(), at each time,
  // another one takes and releases the lock and a reader comes, so that the word is as before.
  int reads_first = 0;
  for (std::chrono::nanoseconds when = 0ns; when < 8us; when += 100ns) {
    INFO("after " << when.count() << " ns");
    bool begins = false;
    bool stopped = false;
    bool reads = false;
    bool ended = false;
    bool both = false;
    CHECK(run_nodes<Ncosed>(3, [&](dsfabric::Thread& self, LockSpace& space) {
            SharedMutex<Ncosed> mutex(space, LockId{{0}, 1});
            auto* const words = reinterpret_cast<LockWords*>(mutex.address().memory.address);
            switch (self.id().process.value) {
              case 0:
                dtutils::store_device_word(&words->word, pair_word(0, 1));
                dtutils::store_device_word(&words->released, std::uint64_t{1});
                begins = true;
                serve_while_waiting(self, [&] { return ended && !reads; });
                break;
              case 1: {
                serve_while_waiting(self, [&] { return begins; });
                dtutils::Simulation& cluster = *dtutils::Simulation::current();
                cluster.at(cluster.time() + when, [&] {
                  cluster.stop(1, 200us);
                  stopped = true;
                });
                const bool taken = mutex.try_lock();
                both = taken && reads;
                reads_first += reads;
                if (taken) mutex.unlock();
                ended = true;
                break;
              }
              default:
                support::await([&] { return stopped; });
                mutex.lock();
                mutex.unlock();
                mutex.lock_shared();
                reads = true;
                serve_while_waiting(self, [&] { return ended; });
                mutex.unlock_shared();
                reads = false;
            }
          }) == "");
    CHECK(!both);
  }
  CHECK(reads_first > 0);
}
