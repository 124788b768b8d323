// SPDX-License-Identifier: MIT
// One name for many at the same moment, and deaths of who keeps names, has data and allocates.
#include <thread>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/error.hpp"
#include "sharing/support/sharing_job.hpp"

using namespace sharing;
using namespace support;

namespace {

const Model kShapes[] = {null(), delta(2), write()};

/// As allocate; nothing when the name is taken.
std::optional<Datum> try_allocate(Client& client, const std::string& name, const Model& model,
                                  memory::Placement placement) {
  try {
    return client.allocate(name, sizeof(Words), model, placement);
  } catch (const dtutils::Error& error) {
    require(std::string(error.what()).find("the name is taken") != std::string::npos, error.what());
    return std::nullopt;
  }
}

/// All numbers of a process can be had, and nothing else is in its memory then.
void require_empty(Sharer& here, std::uint16_t home, const std::string& prefix) {
  const std::uint32_t all = here.space.options().data;
  const auto name = [&](std::uint32_t i) { return prefix + std::to_string(i); };
  for (std::uint32_t i = 0; i < all; ++i) {
    (void)here.client.allocate(name(i), 8, strict(), memory::there({home}));
  }
  bool refused = false;
  try {
    (void)here.client.allocate(name(all), 8, strict(), memory::there({home}));
  } catch (const dtutils::Error& error) {
    refused = std::string(error.what()).find("no number left") != std::string::npos;
  }
  require(refused, "it has no number more");
  for (std::uint32_t i = 0; i < all; ++i) require_done(here.client.free(name(i)), "free");
}

}  // namespace

TEST_CASE("of_many_that_allocate_one_name_at_once_one_gets_it_and_nothing_is_lost") {
  constexpr std::uint32_t kProcesses = 4;
  constexpr std::size_t kWon = 0, kTried = 1, kSeen = 2, kFreed = 3;
  CHECK(share(kProcesses, [](Sharer& here) {
          for (std::uint64_t round = 1; round <= 60; ++round) {
            const std::string name = "round" + std::to_string(round % 7);
            const std::uint16_t home = (here.member.rank + round) % kProcesses;
            here.self.barrier();
            const auto mine =
                try_allocate(here.client, name, kShapes[round % 3], memory::there({home}));
            if (mine) {
              here.word(kWon)++;
              require_done(here.client.put(*mine, Words::of(round).bytes()), "put");
            }
            here.word(kTried)++;
            here.await(kTried, kProcesses * round, "all have tried");
            require_equal(here.word(kWon).load(), round, "one got it");
            const auto found = here.client.find(name);
            require(found.has_value(), "it is found");
            Words words;
            require_done(here.client.get(*found, words.bytes()), "get");
            require(words.whole() && words.word[0] == round, "what the winner has put");
            here.word(kSeen)++;
            here.await(kSeen, kProcesses * round, "all have seen it");
            if (mine) require_done(here.client.free(name), "free");
            here.word(kFreed)++;
            here.await(kFreed, kProcesses * round, "it is free");
          }
          here.self.barrier();
          require_equal(here.space.memory().segments(), 0u, "segments that nobody has");
          here.self.barrier();
          if (here.member.rank == 0) {
            for (const std::uint16_t home : {0, 1, 2, 3}) require_empty(here, home, "n");
          }
        }) == "");
}

TEST_CASE("an_allocation_that_finds_no_memory_takes_none") {
  SpaceOptions options = small_space();
  options.bytes = 256 << 10;
  CHECK(share(
            1,
            [](Sharer& here) {
              // Room for the words beside the bytes, and not for the bytes.
              for (int i = 0; i < 100; ++i) {
                bool refused = false;
                try {
                  (void)here.client.allocate("large", 1 << 20, delta(1));
                } catch (const dtutils::Error&) {
                  refused = true;
                }
                require(refused, "there is no room");
              }
              require_equal(here.space.memory().segments(), 0u, "segments that nobody has");
            },
            options) == "");
}

// Processes 0 and 1 allocate and free without a pause while process 2, which keeps a third of the
// names, is killed; then they use the names that it had.
TEST_CASE("who_keeps_names_and_dies_among_allocations_blocks_no_name_and_loses_nothing") {
  constexpr std::size_t kReady = 0, kKnown = 1, kDone = 2;
  constexpr int kLasting = 24;
  for (int attempt = 0; attempt < 3; ++attempt) {
    ForkJob job(3, [](Member& member) {
      as_sharer(member, [&](Sharer& here) {
        dsfabric::Fabric& fabric = here.self.fabric();
        const auto lasting = [](int i) { return "lasting" + std::to_string(i); };
        if (member.rank == 0) {
          for (int i = 0; i < kLasting; ++i) {
            const Datum datum =
                here.client.allocate(lasting(i), sizeof(Words), write(),
                                     memory::there({static_cast<std::uint16_t>(i % 2)}));
            require_done(here.client.put(datum, Words::of(i).bytes()), "put");
          }
        }
        here.self.barrier();
        here.word(kReady)++;
        if (member.rank == 2) {
          for (;;) here.self.progress();
        }
        for (std::uint64_t i = 0; !fabric.failed({2}); ++i) {
          // Both use the same names.
          const std::string name = "brief" + std::to_string(i % 16);
          const auto mine =
              try_allocate(here.client, name, kShapes[i % 3],
                           memory::there({static_cast<std::uint16_t>((i + member.rank) % 2)}));
          if (!mine) continue;
          require_done(here.client.put(*mine, Words::of(i).bytes()), "put");
          require_done(here.client.free(name), "free");
        }
        here.word(kKnown)++;
        here.await(kKnown, 2, "both know of the death");
        for (int i = 0; i < kLasting; ++i) {
          const auto found = here.client.find(lasting(i));
          require(found.has_value(), "what was allocated is found");
          Words words;
          require_done(here.client.get(*found, words.bytes()), "get");
          require(words.whole() && words.word[0] == static_cast<std::uint64_t>(i), "its bytes");
          require(!try_allocate(here.client, lasting(i), null(), memory::here()), "it is taken");
        }
        here.word(kDone)++;
        here.await(kDone, 2, "both have found them");
        if (member.rank == 0) {
          for (int i = 0; i < kLasting; ++i) {
            require_done(here.client.free(lasting(i)), "free");
            require_status(here.client.free(lasting(i)), Status::kFreed, "free again");
          }
          for (const std::uint16_t home : {0, 1}) require_empty(here, home, "lasting");
        }
        here.word(kDone)++;
        here.await(kDone, 4, "all names were had");
        require_equal(here.space.memory().segments(), 0u, "segments that nobody has");
        here.word(kDone)++;
        here.await(kDone, 6, "both are done");
      });
    });
    CHECK(eventually([&] { return job.memory().words[kReady] == 3; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(2 + 3 * attempt));
    job.kill(2);
    CHECK(job.wait() == "2: signal 9\n");
  }
}

TEST_CASE("a_name_whose_data_died_can_be_freed_and_allocated_again") {
  constexpr std::size_t kReady = 0, kKnown = 1, kDone = 2;
  ForkJob job(3, [](Member& member) {
    as_sharer(member, [&](Sharer& here) {
      const auto name = [](int i) { return "name" + std::to_string(i); };
      if (member.rank == 0) {
        for (int i = 0; i < 12; ++i) {
          (void)here.client.allocate(name(i), 8, strict(), memory::there({2}));
        }
      }
      here.self.barrier();
      here.word(kReady)++;
      require(eventually([&] {
                here.self.progress();
                return here.self.fabric().failed({2});
              }),
              "the death is noticed");
      here.word(kKnown)++;
      here.await(kKnown, 2, "both know of the death");
      if (member.rank == 0) {
        for (int i = 0; i < 12; ++i) {
          // A third of the names was kept there, too.
          const Status freed = here.client.free(name(i));
          require(freed == Status::kHomeFailed || freed == Status::kFreed, to_string(freed));
          require(!here.client.find(name(i)).has_value(), "it is gone");
          (void)here.client.allocate(name(i), 8, strict(), memory::there({1}));
          bool refused = false;
          try {
            (void)here.client.allocate("other", 8, strict(), memory::there({2}));
          } catch (const dsfabric::PeerFailed&) {
            refused = true;
          }
          require(refused, "there is no home");
        }
      }
      here.word(kDone)++;
      here.await(kDone, 2, "all were allocated");
      require(here.client.find(name(11)).has_value(), "found");
      here.word(kDone)++;
      here.await(kDone, 4, "both are done");
    });
  });
  CHECK(eventually([&] { return job.memory().words[kReady] == 3; }));
  job.kill(2);
  CHECK(job.wait() == "2: signal 9\n");
}
