// SPDX-License-Identifier: MIT
// Threads of one process that put the same document at the same time.
#include "support/threads.hpp"

#include <atomic>
#include <thread>

#include "caching/support/caching_job.hpp"

using namespace caching;
using namespace support;

TEST_CASE("what_two_threads_put_at_once_is_found_by_neighbours") {
  constexpr int kKeys = 200;
  ForkJob job(2, [](Member& member) {
    CacheOptions options;
    options.bytes = 4 << 20;
    options.scheme = Scheme::kBcc;
    options.directory = 16 * kKeys;
    CachingNode node(member, options);
    if (member.rank == 0) {
      std::atomic<int> arrived{0};
      Threads threads;
      for (int thread = 0; thread < 2; ++thread) {
        threads.start([&] {
          for (int i = 0; i < kKeys; ++i) {
            ++arrived;
            while (arrived < 2 * (i + 1)) std::this_thread::yield();
            require(put(node.cache, key_number(i), 1, 100) == Stored::kHere, "put");
          }
        });
      }
      threads.join();
      require_equal(node.cache.counters().documents, std::uint64_t{kKeys}, "documents");
    }
    meet(member, node, 0);
    for (int i = 0; member.rank == 1 && i < kKeys; ++i) {
      require(node.cache.get(key_number(i)).source() == Source::kNeighbour, key_number(i));
    }
    meet(member, node, 1);
  });
  CHECK(job.wait() == "");
}
