// SPDX-License-Identifier: MIT
// Subscriptions that a program holds: what they give, what they refuse, how they end.
#include <utility>
#include <vector>

#include "memory/support/memory_job.hpp"
#include "support/error_text.hpp"

using namespace memory;
using namespace support;

TEST_CASE("a_subscription_gives_each_write_and_asks_nobody_in_between") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member);
          if (member.rank == 0) {
            Client client(node.space, {.cache_bytes = 100});
            Client writer(node.space);
            for (const std::uint16_t home : {0, 1}) {
              const auto p = client.allocate<Whole<16>>(3, there({home}));
              Subscription<Whole<16>> second(client, p + 1);
              Whole<16> seen;
              std::array<Whole<16>, 2> both;
              for (std::uint64_t value = 1; value < 20; ++value) {
                const WriteMode mode = value % 2 == 0 ? WriteMode::kByCall : WriteMode::kOneSided;
                require_done(writer.write(p + 1, Whole<16>::of(value), {.mode = mode}), "write");
                require_done(second.read(seen), "read");
                require_equal(seen.value(), value, "what was written");
                const ClientCounters before = client.counters();
                for (int i = 0; i < 10; ++i) {
                  require_done(second.read(seen), "hit");
                  require_done(second.read(std::span(both)), "hit of two elements");
                  require_equal(both[0].value(), value, "the first");
                  require_equal(both[1].value(), 0u, "the second");
                }
                require_equal(client.counters().hits - before.hits, 20u, "hits");
                require_equal(client.counters().misses, before.misses, "misses");
              }
              require(second.pointer() == p + 1, "its pointer");
            }
          }
          meet(member, node, 0);
        }) == "");
}

TEST_CASE("a_subscription_refuses_what_a_read_refuses") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member);
          if (member.rank == 0) {
            Client client(node.space, {.subscriptions = 1});
            using Numbers = Subscription<std::uint64_t>;
            const auto text_of = [&](const GlobalPtr<std::uint64_t>& p) {
              return error_text([&] { Numbers no(client, p); });
            };
            const auto says = [&](const std::string& text, const std::string& what) {
              require(text.find(what) != std::string::npos, text);
            };
            const auto p = client.allocate<std::uint64_t>(2, there({1}));
            says(text_of({}), "names no segment");
            says(text_of(p + 3), "beyond the end");
            says(text_of(GlobalPtr<std::uint64_t>(client.allocate<int>(2).place())),
                 "another type");
            says(text_of(client.allocate<std::uint64_t>(1, there({1}), Kind::kPlain)), "versions");
            const auto freed = client.allocate<std::uint64_t>(1, there({1}));
            require_done(client.free(freed), "free");
            says(text_of(freed), "was freed");

            std::uint64_t value = 1;
            std::array<std::uint64_t, 2> two{};
            {
              Numbers last(client, p + 1);
              says(text_of(p), "no subscription left");
              for (int i = 0; i < 2; ++i) {
                require_status(last.read(std::span(two)), Status::kOutOfRange, "across the end");
                require_done(last.read(value), "read");
                require_equal(value, 0u, "value");
              }
              require_done(last.read(std::span<std::uint64_t>()), "nothing");
              Numbers moved(std::move(last));
              require_status(last.read(value), Status::kForeign, "what was moved from");
              require_done(moved.read(value), "what was moved");
              last = std::move(moved);
              require_done(last.read(value), "moved back");
            }
            // When the home knows that it has ended, there is room for another one.
            require(eventually([&] {
                      client.progress();
                      return text_of(p) == "(no error)";
                    }),
                    "its subscription is free again");
          }
          meet(member, node, 0);
        }) == "");
}

TEST_CASE("the_end_of_a_subscription_leaves_those_of_others_as_they_are") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member);
          if (member.rank == 0) {
            Client client(node.space);
            Client writer(node.space);
            for (const std::uint16_t home : {0, 1}) {
              Client other(node.space, {.subscriptions = 1});
              const auto p = client.allocate<std::uint64_t>(1, there({home}));
              const auto q = client.allocate<std::uint64_t>(1, there({home}));
              Subscription<std::uint64_t> stays(client, p);
              std::uint64_t value = 0;
              require_done(writer.write(p, std::uint64_t{100}), "write");
              require_done(stays.read(value), "read");
              require_equal(value, 100u, "what was written");
              {
                Subscription<std::uint64_t> ends(other, p);
                require_done(ends.read(value), "read");
              }
              // The home knows that it has ended once there is room for another one.
              require(eventually([&] {
                        other.progress();
                        return error_text([&] { Subscription<std::uint64_t> next(other, q); }) ==
                               "(no error)";
                      }),
                      "its subscription is free again");
              for (std::uint64_t i = 1; i < 20; ++i) {
                require_done(writer.write(p, i), "write");
                require_done(stays.read(value), "read");
                require_equal(value, i, "what was written");
              }
            }
          }
          meet(member, node, 0);
        }) == "");
}

TEST_CASE("a_subscription_to_a_segment_that_was_freed_never_answers") {
  CHECK(run_members(2, [](Member& member) {
          MemoryNode node(member);
          if (member.rank == 0) {
            Client client(node.space);
            Client other(node.space);
            const auto p = client.allocate<std::uint64_t>(1, there({1}));
            Subscription<std::uint64_t> old(client, p);
            std::uint64_t value = 0;
            require_done(old.read(value), "read");
            require_done(old.read(value), "hit");
            require_done(other.free(p), "free");
            require_status(old.read(value), Status::kFreed, "read");
            const auto next = client.allocate<std::uint64_t>(1, there({1}));
            require_equal(next.place().place, p.place().place, "the same place");
            Subscription<std::uint64_t> its(client, next);
            for (std::uint64_t i = 1; i < 10; ++i) {
              require_done(other.write(next, i), "write");
              require_status(old.read(value), Status::kFreed, "the old one");
              require_done(its.read(value), "the new one");
              require_equal(value, i, "value");
            }
          }
          meet(member, node, 0);
        }) == "");
}

TEST_CASE("a_subscription_ends_with_its_home_and_with_no_other") {
  ForkJob job(3, [](Member& member) {
    MemoryNode node(member);
    if (member.rank != 0) {
      while (!member.memory.words[1]) {
        node.fabric.progress();
        dtutils::sleep_for(std::chrono::microseconds(100));
      }
      return;
    }
    Client client(node.space);
    const auto p = client.allocate<Whole<4>>(1, there({1}));
    const auto q = client.allocate<Whole<4>>(1, there({2}));
    std::vector<Subscription<Whole<4>>> held;
    held.emplace_back(client, p);
    held.emplace_back(client, q);
    Whole<4> seen;
    for (auto& each : held) require_done(each.read(seen), "read");
    member.memory.words[0] = 1;
    require(eventually([&] {
              node.fabric.progress();
              return held[1].read(seen) == Status::kHomeFailed;
            }),
            "it ends");
    require_status(held[1].read(seen), Status::kHomeFailed, "and stays so");
    require_done(client.write(p, Whole<4>::of(3)), "write");
    const std::uint64_t misses = client.counters().misses;
    for (int i = 0; i < 5; ++i) {
      require_done(held[0].read(seen), "the other");
      require_equal(seen.value(), 3u, "value");
    }
    require_equal(client.counters().misses, misses + 1, "misses");
    require(error_text([&] { held.emplace_back(client, q); }) != "(no error)", "a dead home");
    member.memory.words[1] = 1;
  });
  CHECK(eventually([&] { return job.memory().words[0] == 1; }));
  job.kill(2);
  CHECK(job.wait() == "2: signal 9\n");
}
