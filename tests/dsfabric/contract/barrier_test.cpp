// SPDX-License-Identifier: MIT
// What a barrier promises of memory: writes that were posted before it are there after it.
#include <cstdint>
#include <string>

#include "dsfabric/support/fabric_job.hpp"
#include "dtutils/device_memory.hpp"
#include "support/error_text.hpp"

using dsfabric::SymmetricBuffer;
using dsfabric::Thread;
using dsfabric::ThreadId;
using support::FabricJob;
using support::in_every_mode;
using support::require;
using support::require_equal;

namespace {

constexpr std::uint64_t kRounds = 200;

/// Every worker writes the number of the round to every other one, and sees after the barrier what
/// all have written to it. Nobody waits for its writes.
void write_and_meet(Thread& self) {
  const std::uint32_t total = self.fabric().total_threads();
  const std::uint32_t mine = self.fabric().rank_of(self.id());
  SymmetricBuffer words(self, (total + 1) * sizeof(std::uint64_t));
  auto* const here = reinterpret_cast<std::uint64_t*>(words.memory().data());
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    here[total] = round;
    for (std::uint32_t rank = 0; rank < total; ++rank) {
      const ThreadId to = self.fabric().thread_of_rank(rank);
      const bool written =
          self.transmitter(to.process)
              .write(words.memory().local(total * sizeof(std::uint64_t), 8),
                     words.at(to).part(mine * sizeof(std::uint64_t), 8), dtutils::kInlined);
      require(written, "it lives");
    }
    self.barrier();
    for (std::uint32_t rank = 0; rank < total; ++rank) {
      require_equal(dtutils::load_device_word(&here[rank]), round, "what was written before");
    }
    self.barrier();
  }
}

/// The worker that comes last acts for its process, by its own queue pair: the words of two
/// barriers come by different ways. The collective of another kind does not begin before both have
/// ended.
void meet_twice(Thread& self) {
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    self.barrier();
    self.barrier();
    require_equal(self.broadcast(round, self.fabric().thread_of_rank(0)), round, "the round");
  }
}

}  // namespace

TEST_CASE("writes_before_a_barrier_are_there_after_it") {
  in_every_mode({.processes = 2, .threads = 1}, write_and_meet);
  in_every_mode({.processes = 2, .threads = 3}, write_and_meet);
  in_every_mode({.processes = 5, .threads = 2}, write_and_meet);
}

TEST_CASE("barriers_by_several_queue_pairs_end") {
  for (const std::uint32_t processes : {2u, 5u}) {
    in_every_mode({.processes = processes, .threads = 2, .queue_pairs = 2}, meet_twice);
  }
}

TEST_CASE("a_barrier_after_a_write_to_oneself_that_was_refused_throws") {
  in_every_mode({.processes = 1, .threads = 1}, [](Thread& self) {
    SymmetricBuffer words(self, 2 * sizeof(std::uint64_t));
    dtutils::RemoteMemoryLocator wrong = words.at(self.id()).part(0, 8);
    wrong.rkey = ~wrong.rkey;
    require(self.transmitter(self.id().process)
                .write(words.memory().local(8, 8), wrong, dtutils::kInlined),
            "it is posted");
    const std::string said = support::error_text([&] { self.barrier(); });
    require(said.find("has written to itself is lost") != std::string::npos, said);
    // That was all, and it has been told.
    self.barrier();
  });
}
