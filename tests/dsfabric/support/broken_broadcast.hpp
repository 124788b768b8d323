// SPDX-License-Identifier: MIT
// A broadcast whose tree has a dead process in the middle, over any channel.
#pragma once

#include <string>
#include <vector>

#include "dsfabric/support/killed_job.hpp"

namespace support {

/// Runs the job; `make(self)` makes a worker's channel. Returns how the processes ended.
template <class Make>
std::string broadcast_past_the_dead(const Make& make) {
  return run_and_kill(4, 2, [&](Member& member, dsfabric::Thread& self) {
    using dsfabric::ThreadId;
    const auto channel = make(self);
    dsfabric::ExecutionSlots executed(self.fabric());
    JobMemory& memory = member.memory;
    std::atomic<std::uint64_t>& ended = memory.words[13];
    // It lies at one address in all of these processes.
    const auto broadcast = [&, there = &memory] {
      const auto count = [there](dsfabric::CallContext& call) {
        ++there->words[call.fabric.process().value];
      };
      require(channel->broadcast(count, &executed), "sent");
    };
    if (member.rank == 0) {
      broadcast();
      require(executed.wait().empty(), "all live");
    }
    meet(member, self);
    // It may still serve for a moment after all have met, and would hand on what comes then.
    std::atomic<std::uint64_t>& stopped = memory.words[12];
    if (member.rank == 2) {
      stopped = 1;
      serve_nothing();
    }
    if (member.rank == 0) {
      serve_until(self, [&] { return stopped == 1; });
      broadcast();
      const auto handed_on = [&] { return memory.words[1] == 2; };
      serve_until(self, handed_on);
      end_victim(memory);
      // 3 was to hear of it from 2.
      require(executed.wait() == std::vector{ThreadId{{2}, 0}, ThreadId{{3}, 0}}, "who is missing");
      broadcast();
      require(executed.wait() == std::vector{ThreadId{{2}, 0}}, "3 hears it now");
      ended = 1;
    }
    serve_until(self, [&] { return ended == 1; });
  });
}

}  // namespace support
