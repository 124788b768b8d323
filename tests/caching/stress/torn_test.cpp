// SPDX-License-Identifier: MIT
// Neighbours read while documents are evicted, replaced and invalidated: never torn, never too old.
#include <algorithm>
#include <atomic>

#include "caching/support/caching_job.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"

using namespace caching;
using namespace support;

namespace {

constexpr int kKeys = 40;

CacheOptions crowded(Scheme scheme, Check check) {
  CacheOptions options;
  options.bytes = 192 << 10;
  options.scheme = scheme;
  options.check = check;
  options.directory = 64;
  return options;
}

std::size_t bytes_of(std::uint64_t key, std::uint64_t version) {
  return (key * 7919 + version * 104'729) % 40'000;
}

}  // namespace

TEST_CASE("a_document_that_is_evicted_while_a_neighbour_reads_it_is_never_torn") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  for (const Check check : {Check::kAuto, Check::kChecksum}) {
    for (const Scheme scheme : {Scheme::kBcc, Scheme::kCcwr, Scheme::kHybcc}) {
      ForkJob job(2, [&](Member& member) {
        CachingNode node(member, crowded(scheme, check));
        std::atomic<std::uint64_t> gets{0};
        const auto churn = [&](std::uint64_t number) {
          Random random(seed + number);
          for (int i = rounds(1500); i > 0; --i) {
            const std::uint64_t key = random.below(kKeys);
            if (random.one_in(3)) {
              // All processes write the same sizes for a version, so old and new blocks overlap in
              // every way.
              const std::uint64_t version = random.below(1000);
              (void)put(node.cache, key_number(key), version, bytes_of(key, version));
            } else if (const Document found = node.cache.get(key_number(key))) {
              const std::uint64_t version = version_of(found, key_number(key));
              require_equal(found.body().size(), bytes_of(key, version), "bytes");
              ++gets;
            }
          }
        };
        Threads threads;
        for (std::uint64_t i = 0; i < 3; ++i) {
          threads.start([&, i] { churn(member.rank * 10 + i); });
        }
        threads.join();
        meet(member, node, 0);
        require(node.cache.invariant(), "invariant");
        require(gets > 0, "documents were found");
        member.memory.words[1] += node.cache.counters().neighbour;
        member.memory.words[2] += node.cache.counters().refused;
      });
      CHECK(job.wait(std::chrono::seconds(60)) == "");
      CHECK(job.memory().words[1] > 0);
      CAPTURE(job.memory().words[1].load());
      // Else nothing was tried.
      CHECK(job.memory().words[2] > 0);
    }
  }
}

TEST_CASE("what_was_invalidated_never_comes_back") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  for (const Scheme scheme : {Scheme::kBcc, Scheme::kCcwr, Scheme::kHybcc}) {
    ForkJob job(3, [&](Member& member) {
      CachingNode node(member, crowded(scheme, Check::kAuto));
      // The origin: the newest version of each key. Versions below `valid` were invalidated.
      constexpr int kOfOrigin = 4;
      auto* const origin = member.memory.words;
      auto* const valid = member.memory.words + kOfOrigin;
      std::atomic<bool> over{false};
      const auto ask = [&](std::uint64_t number) {
        Random random(seed + number);
        while (!over) {
          const std::uint64_t key = random.below(kOfOrigin);
          const std::uint64_t least = valid[key];
          const Document found = node.cache.get(key_number(key));
          if (found) {
            require(version_of(found, key_number(key)) >= least, "an old version");
          } else {
            (void)put(node.cache, key_number(key), origin[key], 2000, found.ticket());
          }
        }
      };
      Threads threads;
      threads.start([&] { ask(member.rank * 10 + 1); });
      threads.start([&] { ask(member.rank * 10 + 2); });
      Random random(seed + member.rank);
      for (int i = rounds(150); i > 0; --i) {
        // Each key is changed by one process.
        const std::uint64_t key = member.rank;
        const std::uint64_t version = ++origin[key];
        if (node.cache.invalidate(key_number(key))) valid[key] = version;
        node.fabric.progress();
      }
      member.memory.words[12]++;
      const bool all = eventually([&] {
        node.fabric.progress();
        return member.memory.words[12] >= 3;
      });
      over = true;
      threads.join();
      require(all, "all have ended");
      require(valid[member.rank] > 0, "it was invalidated");
      meet(member, node, 13);
      require(node.cache.invariant(), "invariant");
    });
    CHECK(job.wait(std::chrono::seconds(60)) == "");
  }
}
