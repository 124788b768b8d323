// SPDX-License-Identifier: MIT
// Many operations under one wait, continuations, causal order, and Clients on workers.
#include <algorithm>
#include <vector>

#include "dsfabric/support/fabric_job.hpp"
#include "memory/support/memory_job.hpp"

using namespace memory;
using namespace support;

TEST_CASE("a_batch_of_everything_ends_under_one_wait") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member);
          if (member.rank == 0) {
            Client client(node.space);
            constexpr std::size_t kCount = 60;
            std::vector<GlobalPtr<Whole<20>>> p;
            std::vector<Whole<20>> seen(kCount);
            for (std::size_t i = 0; i < kCount; ++i) {
              p.push_back(client.allocate<Whole<20>>(1, spread()));
            }
            const auto sum = client.allocate<std::uint64_t>(1, there({1}));
            const auto plain = client.allocate<std::uint64_t>(2, there({1}), Kind::kPlain);
            Batch batch(client);
            for (std::uint64_t round = 1; round <= 3; ++round) {
              std::vector<std::uint64_t> before(kCount);
              for (std::size_t i = 0; i < kCount; ++i) {
                batch.write(p[i], Whole<20>::of(i * round));
                batch.fetch_add(sum, i, before[i]);
              }
              require(batch.pending() == 2 * kCount, "they are under way");
              require_done(batch.wait(), "writes");
              for (const ReadMode mode : kModes) {
                for (std::size_t i = 0; i < kCount; ++i) batch.read(p[i], seen[i], mode);
                require_done(batch.wait(), "reads");
                for (std::size_t i = 0; i < kCount; ++i) {
                  require_equal(seen[i].value(), i * round, "value");
                }
              }
              std::uint64_t was = 0;
              batch.write(plain, round);
              batch.compare_and_swap(plain + 1, round - 1, round, was);
              require_done(batch.wait(), "one-sided");
              require_equal(was, round - 1, "before");
            }
            std::uint64_t total = 0;
            batch.read(sum, total);
            require_done(batch.wait(), "read");
            require_equal(total, 3 * kCount * (kCount - 1) / 2, "sum");
            require_done(client.free(p[5]), "free");
            batch.read(p[4], seen[4]);
            batch.read(p[5], seen[5]);
            batch.read(p[6], seen[6]);
            require_status(batch.wait(), Status::kFreed, "one was freed");
            require_equal(seen[6].value(), 18u, "the others are there");
            require_equal(client.under_way(), 0u, "under way");
          }
          meet(member, node, 0);
        }) == "");
}

TEST_CASE("long_writes_and_synchronizers_and_continuations") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member);
          if (member.rank == 0) {
            Client client(node.space);
            const auto p = client.allocate<Whole<500>>(1, there({1}));
            dtutils::Synchronizer written(1);
            const Whole<500> value = Whole<500>::of(9);
            client.start_write(p, std::span<const Whole<500>>(&value, 1), {}, written);
            client.wait_until([&] { return written.done(); });
            require_equal(written.failures(), 0u, "failures");
            Whole<500> seen;
            int told = 0;
            client.start_read(p, std::span(&seen, 1), ReadMode::kCached, [&told](Status status) {
              told += status == Status::kDone ? 1 : 100;
            });
            require_equal(told, 0, "told before start returned");
            client.wait_until([&] { return told != 0; });
            require_equal(told, 1, "told once");
            require_equal(seen.value(), 9u, "value");
            dtutils::Synchronizer bad(1);
            client.start_read(GlobalPtr<Whole<500>>(), std::span(&seen, 1), ReadMode::kCached, bad);
            client.wait_until([&] { return bad.done(); });
            require_equal(bad.failures(), 1u, "failures");
          }
          meet(member, node, 0);
        }) == "");
}

TEST_CASE("a_batch_writes_several_elements_as_one") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member);
          if (member.rank == 0) {
            Client client(node.space);
            const auto p = client.allocate<std::uint64_t>(40, there({1}));
            Batch batch(client);
            for (const bool causal : {false, true}) {
              std::vector<std::uint64_t> values(30, causal ? 5 : 4);
              batch.write(p + 2, std::span<const std::uint64_t>(values), {.causal = causal});
              // They were copied at once.
              std::ranges::fill(values, 1);
              require_done(batch.wait(), "write");
              std::vector<std::uint64_t> seen(40);
              batch.read(p, std::span<std::uint64_t>(seen));
              require_done(batch.wait(), "read");
              for (std::size_t i = 0; i < seen.size(); ++i) {
                require_equal(seen[i], i < 2 || i >= 32 ? 0u : causal ? 5u : 4u, "value");
              }
            }
            const std::vector<std::uint64_t> many(39);
            batch.write(p + 2, std::span<const std::uint64_t>(many));
            require_status(batch.wait(), Status::kOutOfRange, "beyond the end");
          }
          meet(member, node, 0);
        }) == "");
}

TEST_CASE("causal_writes_come_after_what_their_clock_has_counted") {
  CHECK(run_members(3, [](Member& member) {
          MemoryNode node(member);
          Client client(node.space);
          GlobalPtr<std::uint64_t> p;
          if (member.rank == 0) p = client.allocate<std::uint64_t>(1, there({2}));
          p = shared_pointer(node, "p", member.rank == 0 ? &p : nullptr);
          // Turns: whose turn it is writes after the one before, of which it only knows the clock,
          // since nobody waits for the end of its own write.
          constexpr std::uint64_t kTurns = 60;
          Batch batch(client);
          for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
            if (turn % 2 != member.rank) continue;
            const std::string before = "clock " + std::to_string(turn);
            if (turn != 0) {
              std::optional<std::vector<std::byte>> bytes;
              require(eventually([&] {
                        client.progress();
                        return (bytes = node.fabric.lookup(before)).has_value();
                      }),
                      before);
              // A name holds 64 bytes: the row of the home.
              std::vector<std::uint64_t> clock = node.space.clock();
              std::memcpy(clock.data() + 2 * 3, bytes->data(), 3 * sizeof(std::uint64_t));
              node.space.observe(clock);
            }
            batch.write(p, turn + 1, {.causal = true});
            const std::vector<std::uint64_t> clock = node.space.clock();
            node.fabric.publish("clock " + std::to_string(turn + 1),
                                std::as_bytes(std::span(clock).subspan(6, 3)));
          }
          require_done(batch.wait(), "causal writes");
          meet(member, node, 0);
          std::uint64_t last = 0;
          require_done(client.read(p, last), "read");
          require_equal(last, kTurns, "the last turn");
          meet(member, node, 1);
        }) == "");
}

TEST_CASE("workers_serve_as_homes_where_there_are_no_service_threads") {
  for (const std::uint32_t services : {0u, 1u}) {
    CHECK(run_members(2, [services](Member& member) {
            dsfabric::Config config;
            config.threads = 2;
            config.service_threads = services;
            dsfabric::Fabric fabric = member.join(config);
            Space space(fabric, {.bytes = 1 << 20});
            fabric.run([&](dsfabric::Thread& self) {
              Client client(space);
              const auto mine = client.allocate<Whole<10>>(2, near(self.neighbour(1)));
              const auto all = self.all_gather(mine);
              const auto next = all[(fabric.rank_of(self.id()) + 1) % all.size()];
              for (std::uint64_t i = 1; i <= 20; ++i) {
                require_done(client.write(mine, Whole<10>::of(i)), "write");
                require_done(
                    client.write(mine + 1, Whole<10>::of(i), {.mode = WriteMode::kOneSided}),
                    "one-sided write");
                for (const ReadMode mode : kModes) {
                  std::array<Whole<10>, 2> seen;
                  require_done(client.read(mine, std::span<Whole<10>>(seen), mode), "read");
                  require_equal(seen[0].value(), i, "mine");
                  require_equal(seen[1].value(), i, "mine");
                  require_done(client.read(next, seen[0], mode), "read of the next");
                  require(seen[0].value() <= 20, "the next one's");
                }
              }
              Batch batch(client);
              Whole<10> seen;
              batch.read(next, seen, ReadMode::kCached);
              require_done(batch.wait(), "batch");
              self.barrier();
            });
          }) == "");
  }
}
