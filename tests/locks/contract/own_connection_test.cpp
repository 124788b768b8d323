// SPDX-License-Identifier: MIT
// A queue pair of a process to itself breaks, by which its workers grant locks to each other.
#include <string>

#include "dsfabric/peer_failed.hpp"
#include "locks/support/lock_job.hpp"
#include "support/catch.hpp"

using namespace locks;
using dsfabric::Thread;
using support::Member;
using support::require;
using support::serve_until_word;

TEST_CASE("waits_end_when_a_process_has_lost_its_connection_to_itself") {
  // Worker 0 of process 0 holds a lock of 1 and one of its own process. The grant of the first to
  // worker 1, which stands behind it, is lost.
  const std::string ended =
      support::run_members({.processes = 2, .threads = 2}, [](Member& member, Thread& self) {
        LockSpace space(self, options_of<Ncosed>());
        SharedMutex theirs(space, LockId{{1}, 1});
        SharedMutex own(space, LockId{{0}, 1});
        const bool first = member.rank == 0;
        const bool breaks = first && self.id().index == 0;
        if (breaks) {
          theirs.lock();
          own.lock();
        }
        if (self.id().index == 0) support::count_waiters(member.memory.words[0]);
        self.barrier();
        if (breaks) {
          serve_until_word(member, self, 0, 3);
          dtutils::RemoteMemoryLocator wrong = theirs.address().memory;
          wrong.rkey = ~wrong.rkey;
          const std::uint64_t value = 1;
          require(self.transmitter({0}).write({const_cast<std::uint64_t*>(&value), sizeof value, 0},
                                              wrong.part(0, 8), dtutils::kInlined),
                  "posted");
          theirs.unlock();
          support::serve_until(self, [&] { return self.fabric().failed({0}); });
          const std::string reason = self.fabric().failure_reason({0});
          require(reason.find("connections to itself") != std::string::npos, reason);
          return;
        }
        if (!first) serve_until_word(member, self, 0, 1);
        // Worker 1 of process 1 gets the lock of its process by a repair.
        SharedMutex<Ncosed>& wanted = first || self.id().index == 1 ? theirs : own;
        bool failed = false;
        try {
          wanted.lock();
          wanted.unlock();
        } catch (const dsfabric::PeerFailed& failure) {
          require(failure.process() == dsfabric::ProcessId{0} || first, failure.what());
          failed = true;
        }
        require(failed || (!first && self.id().index == 1), "what has no home cannot be locked");
        if (!first) support::meet_living(member, self, 1, 2);
      });
  CAPTURE(ended);
  // The end of its run says what happened, one way or the other.
  CHECK((ended.empty() || ended.find("has written to itself is lost") != std::string::npos));
}
