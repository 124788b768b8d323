// SPDX-License-Identifier: MIT
// A process that ends its LockSpace while others are stopped, and nobody has called them failed.
#include <cstdint>
#include <optional>

#include "locks/support/lock_job.hpp"
#include "support/catch.hpp"

using namespace locks;
using dsfabric::Thread;
using support::ForkJob;
using support::Member;
using support::require;
using support::serve_until_word;

namespace {

enum Word { kReady, kSeen, kLeft, kEnd };

/// Process 0 leaves the space when process 3 has died; the others stay to the end of the test.
void leave_or_stay(Member& member, Thread& self) {
  std::optional<LockSpace> space(std::in_place, self);
  self.barrier();
  auto& words = member.memory.words;
  const std::uint64_t calls = self.fabric().calls_run();
  ++words[kReady];
  if (member.rank == 3) support::serve_nothing();
  support::serve_until(self, [&] { return self.fabric().failed({3}); });
  ++words[kSeen];
  if (member.rank == 0) {
    // A home has asked it to freeze: nobody else calls it.
    support::serve_until(self, [&] { return self.fabric().calls_run() > calls; });
    ++words[kSeen];
    serve_until_word(member, self, kSeen, 4);
    space.reset();
    words[kLeft] = 1 + self.fabric().failures();
  }
  serve_until_word(member, self, kEnd, 1);
}

}  // namespace

TEST_CASE("a_process_leaves_its_space_although_another_one_that_is_stopped_answers_no_repair") {
  ForkJob job(4, support::living({}, leave_or_stay));
  auto& words = job.memory().words;
  REQUIRE(support::eventually([&] { return words[kReady] == 4; }));
  job.stop(2);
  job.kill(3);
  CHECK(support::eventually([&] { return words[kSeen] == 3; }));
  words[kSeen] = 4;
  // After Config::leave_timeout. It has given up nobody but the dead one.
  CHECK(support::eventually([&] { return words[kLeft] == 2; }));
  job.resume(2);
  words[kEnd] = 1;
  CHECK(job.wait() == "3: signal 9\n");
}

TEST_CASE("a_process_that_leaves_gives_up_a_home_that_is_stopped_in_the_middle_of_a_repair") {
  // 1 has frozen 0, waits for 2, which is stopped, and is stopped then.
  ForkJob job(4, support::living({}, leave_or_stay));
  auto& words = job.memory().words;
  REQUIRE(support::eventually([&] { return words[kReady] == 4; }));
  job.stop(2);
  job.kill(3);
  CHECK(support::eventually([&] { return words[kSeen] == 3; }));
  job.stop(1);
  words[kSeen] = 4;
  CHECK(support::eventually([&] { return words[kLeft] == 3; }));
  job.resume(1);
  job.resume(2);
  words[kEnd] = 1;
  CHECK(job.wait() == "3: signal 9\n");
}
