// SPDX-License-Identifier: MIT
// Segments of all sizes in all places, read and written in every way.
#include <algorithm>
#include <vector>

#include "memory/support/memory_job.hpp"
#include "support/random.hpp"

using namespace memory;
using namespace support;

TEST_CASE("every_size_is_written_and_read_in_every_way") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member, 4 << 20);
          if (member.rank == 0) {
            Client client(node.space);
            Random random(7);
            for (const std::size_t bytes : {1, 7, 8, 47, 48, 49, 96, 255, 256, 500, 1000, 5000}) {
              for (const std::uint16_t home : {0, 1}) {
                const auto p = client.allocate(bytes, there({home}));
                require_equal(p.home().value, home, "home");
                std::vector<std::byte> value(bytes), seen(bytes, std::byte{1});
                require_done(client.read(p, std::span(seen)), "the first read");
                require(seen == value, "it begins as zeros");
                for (const WriteMode mode : {WriteMode::kByCall, WriteMode::kOneSided}) {
                  for (auto& each : value) each = static_cast<std::byte>(random.below(256));
                  require_done(client.write(p, std::span<const std::byte>(value), {.mode = mode}),
                               "write");
                  for (int again = 0; again < 2; ++again) {
                    for (const ReadMode read : kModes) {
                      std::fill(seen.begin(), seen.end(), std::byte{0});
                      require_done(client.read(p, std::span(seen), read), "read");
                      require(seen == value, "the value");
                    }
                  }
                }
                // A part of it.
                const std::size_t first = bytes / 3, part = std::max<std::size_t>(1, bytes / 4);
                for (const WriteMode mode : {WriteMode::kByCall, WriteMode::kOneSided}) {
                  for (std::size_t i = 0; i < part; ++i) value[first + i] ^= std::byte{0x5a};
                  require_done(client.write(p + static_cast<std::int64_t>(first),
                                            std::span<const std::byte>(value).subspan(first, part),
                                            {.mode = mode}),
                               "write of a part");
                  for (const ReadMode read : kModes) {
                    std::fill(seen.begin(), seen.end(), std::byte{0});
                    require_done(client.read(p + static_cast<std::int64_t>(first),
                                             std::span(seen).first(part), read),
                                 "read of a part");
                    require(std::equal(seen.begin(), seen.begin() + static_cast<long>(part),
                                       value.begin() + static_cast<long>(first)),
                            "the part");
                  }
                }
                dtutils::RDMAMemory into = node.fabric.general_allocator().allocate(bytes);
                require_done(client.read(p, into.local(0, static_cast<std::uint32_t>(bytes))),
                             "direct read");
                require(std::memcmp(into.data(), value.data(), bytes) == 0, "the value there");
                require_done(client.free(p), "free");
              }
            }
            require(client.counters().hits > 0 && client.counters().misses > 0, "it cached");
          }
          meet(member, node, 0);
          require_equal(node.space.segments(), 0u, "segments");
          require_equal(node.space.bytes_in_use(), 0u, "bytes");
        }) == "");
}

TEST_CASE("plain_segments_are_read_written_and_changed_one_sided") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member);
          if (member.rank == 0) {
            Client client(node.space);
            const auto p = client.allocate<std::uint64_t>(100, there({1}), Kind::kPlain);
            std::vector<std::uint64_t> value(100);
            for (std::uint64_t i = 0; i < 100; ++i) value[i] = i * i;
            require_done(client.write(p, std::span<const std::uint64_t>(value)), "write");
            std::vector<std::uint64_t> seen(60);
            require_done(client.read(p + 40, std::span(seen)), "read");
            require(std::equal(seen.begin(), seen.end(), value.begin() + 40), "the value");
            std::uint64_t before = 0;
            require_done(client.fetch_add(p + 3, 5, before), "add");
            require_equal(before, 9u, "before");
            require_done(client.compare_and_swap(p + 3, 14, 1, before), "swap");
            require_equal(before, 14u, "before");
            require_done(client.compare_and_swap(p + 3, 14, 2, before), "no swap");
            require_equal(before, 1u, "before");
            require_equal(client.locate(p + 3).length, 97u * 8, "what is located");
            require_done(client.free(p + 5), "free through any element");
            require_status(client.read(p, seen[0]), Status::kFreed, "read after free");
            require_status(client.write(p, seen[0]), Status::kFreed, "write after free");
            require_status(client.fetch_add(p, 1, before), Status::kFreed, "add after free");
          }
          meet(member, node, 0);
        }) == "");
}

TEST_CASE("spread_takes_all_homes_and_near_the_process_of_the_worker") {
  CHECK(run_members(3, [](Member& member) {
          MemoryNode node(member);
          if (member.rank == 1) {
            Client client(node.space);
            std::array<int, 3> count{};
            for (int i = 0; i < 30; ++i) ++count[client.allocate<int>(1, spread()).home().value];
            for (const int each : count) require_equal(each, 10, "segments of a home");
            require_equal(client.allocate<int>(1, near({{2}, 0})).home().value, 2, "near");
            require_equal(client.allocate<int>().home().value, 1, "here");
          }
          meet(member, node, 0);
        }) == "");
}

TEST_CASE("atomics_on_versioned_segments_are_seen_by_cached_readers") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member);
          Client client(node.space);
          GlobalPtr<std::uint64_t> p;
          if (member.rank == 0) p = client.allocate<std::uint64_t>(4, there({1}));
          p = shared_pointer(node, "p", member.rank == 0 ? &p : nullptr);
          for (std::uint64_t i = 0; i < 100; ++i) {
            std::uint64_t before = 0, now = 0;
            require_done(client.fetch_add(p + 2, 1, before), "add");
            for (const ReadMode mode : kModes) {
              require_done(client.read(p + 2, now, mode), "read");
              require(now > before, "what was added is there");
            }
          }
          meet(member, node, 0);
          std::uint64_t sum = 0;
          require_done(client.read(p + 2, sum, ReadMode::kSubscribed), "read");
          require_equal(sum, 200u, "sum");
          meet(member, node, 1);
        }) == "");
}

TEST_CASE("cached_reads_stay_right_when_the_cache_is_small") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member);
          if (member.rank == 0) {
            Client client(node.space, {.cache_bytes = 1000, .subscriptions = 4});
            std::vector<GlobalPtr<Whole<16>>> p;
            for (int i = 0; i < 20; ++i) p.push_back(client.allocate<Whole<16>>(1, there({1})));
            Random random(3);
            std::vector<std::uint64_t> value(p.size());
            for (int i = 0; i < 600; ++i) {
              const std::size_t which = random.below(p.size());
              if (random.one_in(4)) {
                require_done(client.write(p[which], Whole<16>::of(++value[which])), "write");
              }
              Whole<16> seen;
              require_done(client.read(p[which], seen, kModes[random.below(3)]), "read");
              require_equal(seen.value(), value[which], "value");
            }
            require(client.counters().evictions > 0, "it was too small");
          }
          meet(member, node, 0);
        }) == "");
}

TEST_CASE("a_segment_larger_than_the_cache_is_read_without_it") {
  CHECK(run_members(1, [](Member& member) {
          MemoryNode node(member);
          Client client(node.space, {.cache_bytes = 100});
          const auto p = client.allocate<Whole<50>>();
          require_done(client.write(p, Whole<50>::of(3)), "write");
          for (const ReadMode mode : kModes) {
            Whole<50> seen;
            require_done(client.read(p, seen, mode), "read");
            require_equal(seen.value(), 3u, "value");
          }
          require_equal(client.counters().hits, 0u, "hits");
        }) == "");
}
