// SPDX-License-Identifier: MIT
// Locks of a simulated cluster: readers behind a writer, and nodes that want the same locks.
#include <algorithm>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "bench/services/lock_draws.hpp"
#include "bench/simulated/cases.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/wait.hpp"
#include "locks/locks.hpp"

namespace simulated_bench {
namespace {

using namespace std::chrono_literals;
using locks::LockId;
using locks::SharedMutex;

constexpr std::uint32_t kReaders = 16;
constexpr std::size_t kMemory = std::size_t{4} << 20;
/// In it all requests have come to where they wait.
constexpr auto kSettle = 200us;

void wait_until(dsfabric::Thread& self, const std::function<bool()>& done) {
  dtutils::Backoff backoff;
  while (!done()) self.progress() ? backoff.reset() : backoff.pause();
}

template <class M>
locks::LockSpaceOptions options(std::uint32_t locks) {
  return {.locks = locks, .scheme = M::kScheme};
}

/// Nanoseconds from unlock() of a writer until the last of 16 readers, each on a node of its own,
/// has had the lock for `hold`. Node 0 is the home, node 1 has the writer.
template <class M>
double cascade(std::chrono::nanoseconds hold) {
  // The nodes share them.
  bool held = false;
  std::uint32_t asked = 0;
  std::uint32_t had_it = 0;
  dtutils::Clock::time_point begin;
  dtutils::Clock::time_point end;
  run(kReaders + 2, kMemory, [&](dsfabric::Fabric& fabric) {
    fabric.run([&](dsfabric::Thread& self) {
      const std::uint16_t node = fabric.process().value;
      locks::LockSpace space(self, options<M>(16));
      SharedMutex<M> mutex(space, LockId{{0}, 0});
      self.barrier();
      if (node == 1) {
        mutex.lock();
        held = true;
        wait_until(self, [&] { return asked == kReaders; });
        const auto settled = dtutils::Clock::now() + kSettle;
        wait_until(self, [&] { return dtutils::Clock::now() >= settled; });
        begin = dtutils::Clock::now();
        mutex.unlock();
      } else if (node > 1) {
        wait_until(self, [&] { return held; });
        ++asked;
        const std::shared_lock lock(mutex);
        simulation::compute(hold);
        ++had_it;
        end = std::max(end, dtutils::Clock::now());
      }
      wait_until(self, [&] { return had_it == kReaders; });
      self.barrier();
    });
  });
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

using Draw = services_bench::LockDraws (*)(std::uint64_t seed);

/// Acquisitions a second of `nodes` nodes together.
template <class M>
double contend(std::uint32_t nodes, bool smoke, Draw draw) {
  const std::uint32_t rounds = smoke ? 20 : 1000;
  dtutils::Clock::time_point begin;
  dtutils::Clock::time_point end;
  run(nodes, kMemory, [&](dsfabric::Fabric& fabric) {
    fabric.run([&](dsfabric::Thread& self) {
      const std::uint16_t node = fabric.process().value;
      const services_bench::LockDraws draws = draw(node + 1u);
      locks::LockSpace space(self, options<M>(services_bench::kDrawnLocks / nodes + 1));
      self.barrier();
      begin = dtutils::Clock::now();
      for (std::uint32_t i = 0; i < rounds; ++i) {
        const std::uint32_t lock = draws[i] >> 1;
        SharedMutex<M> mutex(
            space, LockId{{static_cast<std::uint16_t>((lock + 1) % nodes)}, lock / nodes});
        if ((draws[i] & 1) != 0) {
          const std::shared_lock held(mutex);
        } else {
          const std::unique_lock held(mutex);
        }
      }
      end = std::max(end, dtutils::Clock::now());
      self.barrier();
    });
  });
  return nodes * rounds / std::chrono::duration<double>(end - begin).count();
}

void add_cascade(bench::Suite& suite, const char* name, std::chrono::nanoseconds hold,
                 const char* bar) {
  suite.add({.name = name,
             .size = kReaders,
             .variants = {variant("ncosed", [=](bool) { return cascade<locks::Ncosed>(hold); }),
                          variant("dqnl", [=](bool) { return cascade<locks::Dqnl>(hold); }),
                          variant("srsl", [=](bool) { return cascade<locks::Srsl>(hold); }),
                          variant("dslr", [=](bool) { return cascade<locks::Dslr>(hold); })},
             .ratios = {{.over = "dqnl", .under = "ncosed", .bar = bar},
                        {.over = "srsl", .under = "ncosed"},
                        {.over = "dslr", .under = "ncosed"}},
             .virtual_time = true,
             .max_iterations = 1});
}

void add_contended(bench::Suite& suite, const char* name, std::uint32_t nodes, Draw draw,
                   const char* bar) {
  bench::Case item{
      .name = name,
      .size = nodes,
      .unit = bench::Unit::kPerSecond,
      .variants =
          {variant("ncosed",
                   [=](bool smoke) { return contend<locks::Ncosed>(nodes, smoke, draw); }),
           variant("dqnl", [=](bool smoke) { return contend<locks::Dqnl>(nodes, smoke, draw); }),
           variant("dslr", [=](bool smoke) { return contend<locks::Dslr>(nodes, smoke, draw); }),
           variant("srsl", [=](bool smoke) { return contend<locks::Srsl>(nodes, smoke, draw); })},
      .virtual_time = true,
      .max_iterations = 1};
  for (const char* other : {"dqnl", "dslr"}) {
    item.ratios.push_back({.over = "ncosed", .under = other, .bar = bar});
  }
  // Without a bar: handlers cost nothing in a simulation, and its server is one.
  item.ratios.push_back({.over = "ncosed", .under = "srsl"});
  suite.add(std::move(item));
}

}  // namespace

void add_lock_cases(bench::Suite& suite) {
  add_cascade(suite, "lock_cascade_shared", 0ns, ">= 4");
  add_cascade(suite, "lock_cascade_shared_held_1us", 1us, "");
  for (const std::uint32_t nodes : {2u, 8u}) {
    add_contended(suite, "lock_contended_one", nodes, &services_bench::draw_one_lock, ">= 1.0");
    add_contended(suite, "lock_contended_zipf", nodes, &services_bench::draw_locks_by_zipf,
                  ">= 1.2");
  }
}

}  // namespace simulated_bench
