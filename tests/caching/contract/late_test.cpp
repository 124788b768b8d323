// SPDX-License-Identifier: MIT
// A process that does not answer holds others up once, and has nothing that they would still read.
#include <chrono>

#include "caching/support/caching_job.hpp"

using namespace caching;
using namespace support;

namespace {

CacheOptions late_cache(Scheme scheme) {
  CacheOptions options;
  options.bytes = 4 << 20;
  options.scheme = scheme;
  options.directory = 1024;
  return options;
}

}  // namespace

TEST_CASE("who_has_not_answered_once_is_not_waited_for_again_and_what_it_has_is_not_read") {
  for (const Scheme scheme : {Scheme::kBcc, Scheme::kCcwr}) {
    CAPTURE(static_cast<int>(scheme));
    ForkJob job(3, [&](Member& member) {
      constexpr std::uint64_t kKeys = 20;
      constexpr std::chrono::milliseconds kPatience{400};
      CacheOptions options = late_cache(scheme);
      options.patience = kPatience;
      CachingNode node(member, options);
      caching::Cache& cache = node.cache;
      auto* const words = member.memory.words;
      const auto until = [&](std::size_t word, std::uint64_t value, const char* what) {
        require(eventually([&] {
                  node.fabric.progress();
                  return words[word] >= value;
                }),
                what);
      };
      // All of them are at the process that is stopped, or a third of them.
      if (member.rank == 2) {
        for (std::uint64_t i = 0; i < kKeys; ++i) (void)put(cache, key_number(i), 1, 1000);
      }
      meet(member, node, 0);
      if (member.rank == 2) {
        words[1] = 1;
        until(7, 2, "the others have seen that it is back");
      } else {
        until(2, 1, "the third one is stopped");
        if (member.rank == 0) {
          const auto begin = std::chrono::steady_clock::now();
          int found = 0, taken = 0;
          for (std::uint64_t i = 0; i < kKeys; ++i) {
            require(!cache.invalidate(key_number(i)), "an invalidation is not complete");
            found += cache.get(key_number(i)) ? 1 : 0;
          }
          require_equal(found, 0, "documents of before");
          // They have another owner meanwhile.
          for (std::uint64_t i = 0; i < kKeys; ++i) {
            const Stored stored = put(cache, key_number(i), 2, 1000);
            taken += stored == Stored::kHere || stored == Stored::kElsewhere ? 1 : 0;
          }
          require_equal(taken, static_cast<int>(kKeys), "puts");
          require(std::chrono::steady_clock::now() - begin < kKeys / 2 * kPatience,
                  "it is waited for once");
          words[3] = 1;
        }
        until(3, 1, "all are invalidated");
        for (std::uint64_t i = 0; i < kKeys; ++i) {
          const Document now = cache.get(key_number(i));
          require(!now || version_of(now, key_number(i)) == 2, "nothing of before is found");
        }
        words[4]++;
        until(6, 1, "the third one goes on");
        require(eventually([&] { return cache.invalidate("/any"); }), "it answers");
        // Documents of it are read again.
        words[7]++;
      }
      until(7, 2, "it answers all");
      if (member.rank == 2) {
        // It has forgotten what it was not told of.
        for (std::uint64_t i = 0; i < kKeys; ++i) {
          const Document now = cache.get(key_number(i));
          require(!now || version_of(now, key_number(i)) == 2, "it has nothing of before");
        }
        require(put(cache, "again", 1, 1000) == Stored::kHere || scheme != Scheme::kBcc, "put");
        for (std::uint64_t i = 0; i < kKeys; ++i) (void)put(cache, "n" + key_number(i), 1, 1000);
        words[8] = 1;
      }
      until(8, 1, "it has new documents");
      if (member.rank == 0) {
        require(eventually([&] {
                  int found = 0;
                  for (std::uint64_t i = 0; i < kKeys; ++i) {
                    found += cache.get("n" + key_number(i)) ? 1 : 0;
                  }
                  return found > static_cast<int>(kKeys / 2);
                }),
                "its documents are read again");
      }
      meet(member, node, 9);
    });
    auto& words = job.memory().words;
    CHECK(eventually([&] { return words[1] == 1; }));
    job.stop(2);
    words[2] = 1;
    CHECK(eventually([&] { return words[4] == 2; }));
    job.resume(2);
    words[6] = 1;
    CHECK(job.wait() == "");
  }
}
