// SPDX-License-Identifier: MIT
// A process dies, or is stopped: its documents are gone, and nothing else.
#include <thread>

#include "caching/support/caching_job.hpp"

using namespace caching;
using namespace support;

namespace {

CacheOptions cache_of(Scheme scheme) {
  CacheOptions options;
  options.bytes = 4 << 20;
  options.scheme = scheme;
  options.directory = 1024;
  return options;
}

/// The two that live have come here; each place has a word of its own.
void meet_two(Member& member, CachingNode& node, std::size_t word = 5) {
  member.memory.words[word]++;
  require(eventually([&] {
            node.fabric.progress();
            return member.memory.words[word] >= 2;
          }),
          "both live");
}

void live_until_killed() {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

}  // namespace

TEST_CASE("a_process_that_dies_takes_its_documents_along_and_no_others") {
  for (const Scheme scheme : {Scheme::kBcc, Scheme::kCcwr, Scheme::kHybcc}) {
    CAPTURE(static_cast<int>(scheme));
    constexpr int kDocuments = 60;
    ForkJob job(3, [&](Member& member) {
      CachingNode node(member, cache_of(scheme));
      // With BCC a document stays where it was put, otherwise its hash decides.
      for (int i = 0; i < kDocuments; ++i) {
        if (i % 3 == static_cast<int>(member.rank)) (void)put(node.cache, key_number(i), 1, 3000);
      }
      meet(member, node, 0);
      if (member.rank == 2) {
        for (int i = 0; i < kDocuments; ++i) {
          const Document found = node.cache.get(key_number(i));
          if (found.source() == Source::kHere) {
            member.memory.words[8 + i / 32] |= std::uint64_t{1} << i % 32;
          }
        }
        member.memory.words[1] = 1;
        live_until_killed();
      }
      require(eventually([&] {
                node.fabric.progress();
                return member.memory.words[1] == 1;
              }),
              "the third has looked");
      if (member.rank == 0) member.memory.words[2] = 1;
      // Gets go on, whatever happens to the third; of every second document only, so that this
      // process does not remember where the others were.
      require(eventually([&] {
                for (int i = 0; i < kDocuments; i += 2) {
                  if (const Document found = node.cache.get(key_number(i))) {
                    (void)version_of(found, key_number(i));
                  }
                }
                return node.fabric.failed({2});
              }),
              "the death is noticed");
      for (int i = 0; i < kDocuments; ++i) {
        const bool was_there = (member.memory.words[8 + i / 32] >> i % 32 & 1) != 0;
        if (was_there) continue;
        // Words of the directory that the dead one had are put elsewhere by who lives.
        require(eventually([&] {
                  const Document found = node.cache.get(key_number(i));
                  return found && version_of(found, key_number(i)) == 1;
                }),
                key_number(i) + " is still there");
      }
      // What is put now has an owner who lives.
      const std::string mine = "new " + std::to_string(member.rank);
      const Stored stored = put(node.cache, mine, 1, 100);
      require(stored == Stored::kHere || stored == Stored::kElsewhere, "put");
      require(node.cache.invalidate(mine), "the dead are not asked");
      require(!node.cache.get(mine), "it is invalidated");
      meet_two(member, node);
    });
    CHECK(eventually([&] { return job.memory().words[2] == 1; }));
    job.kill(2);
    CHECK(job.wait() == "2: signal 9\n");
  }
}

TEST_CASE("a_directory_entry_of_a_dead_process_is_a_miss_and_gives_way_to_a_new_one") {
  for (const Scheme scheme : {Scheme::kBcc, Scheme::kCcwr, Scheme::kMtacc, Scheme::kHybcc}) {
    CAPTURE(static_cast<int>(scheme));
    constexpr std::size_t kDocuments = 60;
    ForkJob job(3, [&](Member& member) {
      CachingNode node(member, cache_of(scheme));
      auto* const words = member.memory.words;
      const auto was_of_dead = [&](std::size_t i) {
        return (words[8 + i / 32] >> i % 32 & 1) != 0;
      };
      if (member.rank == 2) {
        for (std::size_t i = 0; i < kDocuments; ++i) {
          if (put(node.cache, key_number(i), 1, 3000) == Stored::kHere) {
            words[8 + i / 32] |= std::uint64_t{1} << i % 32;
          }
        }
        words[1] = 1;
        live_until_killed();
      }
      require(eventually([&] {
                node.fabric.progress();
                return words[1] == 1;
              }),
              "the third has put its documents");
      if (member.rank == 0) words[2] = 1;
      require(eventually([&] {
                node.fabric.progress();
                return node.fabric.failed({2});
              }),
              "the death is noticed");
      meet_two(member, node, 5);
      std::size_t lost = 0;
      for (std::size_t i = 0; i < kDocuments; ++i) {
        if (!was_of_dead(i)) continue;
        ++lost;
        if (member.rank != 0) continue;
        // The origin is asked, and the answer kept, as soon as the directory can be read.
        require(eventually([&] {
                  const Document found = node.cache.get(key_number(i));
                  require(!found, "what only the dead one had is a miss");
                  const Stored stored = put(node.cache, key_number(i), 2, 3000, found.ticket());
                  return stored == Stored::kHere || stored == Stored::kElsewhere;
                }),
                key_number(i) + " is put again");
      }
      require(lost > 0, "the dead one had some");
      meet_two(member, node, 6);
      for (std::size_t i = 0; i < kDocuments; ++i) {
        if (!was_of_dead(i)) continue;
        require(eventually([&] {
                  const Document found = node.cache.get(key_number(i));
                  return found && version_of(found, key_number(i)) == 2;
                }),
                key_number(i) + " is found again");
      }
      meet_two(member, node, 7);
    });
    CHECK(eventually([&] { return job.memory().words[2] == 1; }));
    job.kill(2);
    CHECK(job.wait() == "2: signal 9\n");
  }
}

TEST_CASE("a_process_that_is_stopped_holds_nobody_up_for_longer_than_patience") {
  ForkJob job(2, [](Member& member) {
    CacheOptions options = cache_of(Scheme::kCcwr);
    options.patience = std::chrono::milliseconds(50);
    CachingNode node(member, options);
    meet(member, node, 0);
    if (member.rank == 1) {
      require(eventually([&] { return member.memory.words[2] == 1; }), "it goes on");
    } else {
      member.memory.words[1] = 1;
      // In time the other one is stopped; then what belongs there is not put.
      int kept_here = 0;
      Stored stored = Stored::kHere;
      require(eventually([&] {
                const std::string key = key_number(static_cast<std::uint64_t>(kept_here++));
                stored = put(node.cache, key, 1, 100);
                return stored == Stored::kNoRoom;
              }),
              "a put is given up");
      require(!node.cache.invalidate("/any"), "an invalidation is not complete");
      member.memory.words[3] = 1;
      require(eventually([&] { return node.cache.invalidate("/any"); }), "the other one goes on");
      // Memory that the other one might have read is free again.
      require(eventually([&] {
                return put(node.cache, key_number(static_cast<std::uint64_t>(kept_here++)), 1,
                           100) == Stored::kElsewhere;
              }),
              "a put is taken again");
      member.memory.words[2] = 1;
    }
    meet(member, node, 4);
  });
  CHECK(eventually([&] { return job.memory().words[1] == 1; }));
  job.stop(1);
  CHECK(eventually([&] { return job.memory().words[3] == 1; }));
  job.resume(1);
  CHECK(job.wait() == "");
}

TEST_CASE("who_does_not_answer_an_invalidation_does_not_keep_it_from_the_others") {
  ForkJob job(3, [](Member& member) {
    CacheOptions options = cache_of(Scheme::kBcc);
    options.patience = std::chrono::milliseconds(50);
    CachingNode node(member, options);
    auto* const words = member.memory.words;
    const auto until = [&](std::size_t word, const char* what) {
      require(eventually([&] {
                node.fabric.progress();
                return words[word] != 0;
              }),
              what);
    };
    require(put(node.cache, "k", 1, 100) == Stored::kHere, "each has one");
    meet(member, node, 0);
    if (member.rank == 1) {
      words[1] = 1;
      until(5, "it goes on");
    } else if (member.rank == 0) {
      until(2, "the second is stopped");
      require(!node.cache.invalidate("k"), "it is not complete");
      require(node.cache.get("k").source() != Source::kHere, "it is not here any more");
      words[3] = 1;
      until(4, "the third has looked");
      require(eventually([&] { return node.cache.invalidate("k"); }), "the second goes on");
      require(!node.cache.get("k"), "it is nowhere");
      words[5] = 1;
    } else {
      until(3, "the first has told what it can");
      require(node.cache.get("k").source() != Source::kHere, "it is not here either");
      words[4] = 1;
    }
    meet(member, node, 6);
  });
  auto& words = job.memory().words;
  CHECK(eventually([&] { return words[1] == 1; }));
  job.stop(1);
  words[2] = 1;
  CHECK(eventually([&] { return words[4] == 1; }));
  job.resume(1);
  CHECK(job.wait() == "");
}
