// SPDX-License-Identifier: MIT
// Workers that are in different collectives: each learns it, and which they are.
#include <functional>
#include <string>

#include "dsfabric/support/fork_job.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

using namespace dsfabric;
using support::contains;
using support::ForkJob;
using support::Member;

namespace {

/// What the processes of a job have to say whose worker 0 does one thing, and all others another.
std::string run_both(std::uint32_t processes, std::uint32_t threads,
                     const std::function<void(Thread&)>& first,
                     const std::function<void(Thread&)>& others) {
  ForkJob job(processes, [&](Member& member) {
    Config config;
    config.threads = threads;
    Fabric fabric = member.join(config);
    fabric.run([&](Thread& self) { fabric.rank_of(self.id()) == 0 ? first(self) : others(self); });
  });
  return job.wait(std::chrono::seconds(20));
}

void barrier(Thread& self) { self.barrier(); }
void gather(Thread& self) { (void)self.all_gather(std::uint64_t{3}); }

constexpr const char* kGather = "Thread::all_gather() of 8 bytes";

}  // namespace

TEST_CASE("barrier_against_gathering_is_named") {
  const std::string two = run_both(2, 1, barrier, gather);
  CHECK_THAT(two, contains("Thread::barrier()") && contains(kGather));
  const std::string three = run_both(3, 1, gather, barrier);
  CHECK_THAT(three, contains("Thread::barrier()") && contains(kGather));
}

TEST_CASE("barrier_against_gathering_in_one_process_is_named") {
  const std::string said = run_both(1, 3, barrier, gather);
  CHECK_THAT(said, contains("thread 0.0 is in Thread::barrier()") && contains(kGather));
}

TEST_CASE("values_of_different_sizes_are_named") {
  const std::string said =
      run_both(2, 1, gather, [](Thread& self) { (void)self.all_gather(std::uint8_t{3}); });
  CHECK_THAT(said, contains(kGather) && contains("all_gather() of 1 bytes"));
}

TEST_CASE("different_operations_on_values_of_one_size_are_named") {
  const std::string said =
      run_both(2, 2, gather, [](Thread& self) { (void)self.all_reduce(std::uint64_t{3}); });
  CHECK_THAT(said, contains(kGather) && contains("Thread::all_reduce() of 8 bytes"));
}

TEST_CASE("broadcasts_from_different_roots_are_named") {
  const auto from = [](std::uint32_t rank) {
    return [rank](Thread& self) {
      (void)self.broadcast(std::uint64_t{3}, self.fabric().thread_of_rank(rank));
    };
  };
  for (const std::string& said :
       {run_both(2, 1, from(0), from(1)), run_both(3, 2, from(0), from(2))}) {
    CHECK_THAT(said, contains("Thread::broadcast() of 8 bytes from thread 0.0"));
    CHECK_THAT(said, contains("Thread::broadcast() of 8 bytes from thread 1.0"));
  }
  // Each side has to tell the other its own root, which is not the first thread.
  const std::string three = run_both(3, 1, from(1), from(2));
  CHECK_THAT(three, contains("from thread 1.0") && contains("from thread 2.0"));
  CHECK_THAT(three, !contains("from thread 0.0"));
  const std::string in_one = run_both(1, 2, from(0), from(1));
  CHECK_THAT(in_one, contains("from thread 0.0") && contains("from thread 0.1"));
}

TEST_CASE("broadcast_from_a_thread_that_does_not_exist_is_refused") {
  const auto broadcast = [](Thread& self) { (void)self.broadcast(3, ThreadId{{0}, 7}); };
  CHECK_THAT(run_both(2, 1, broadcast, broadcast), contains("its root 0.7 does not exist"));
}

TEST_CASE("collective_that_the_others_do_not_come_to_is_named") {
  const std::string said = run_both(2, 1, barrier, [](Thread&) {});
  CHECK_THAT(said, contains("Thread::barrier()") && contains("the end of run()"));
}

TEST_CASE("symmetric_buffers_of_different_sizes_are_refused") {
  const std::string said = run_both(
      2, 1, [](Thread& self) { SymmetricBuffer(self, 64); },
      [](Thread& self) { SymmetricBuffer(self, 6400); });
  CHECK_THAT(said, contains("64 bytes") && contains("6400"));
}
