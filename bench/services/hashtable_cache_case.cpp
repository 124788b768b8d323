// SPDX-License-Identifier: MIT
// Finds in Mode::kCached beside the raw reads that a hit and a miss are made of.
#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "bench/services/hashtable_cases.hpp"

namespace services_bench {
namespace {

using dsfabric::Thread;
using fabric_bench::NodePtr;
using fabric_bench::on_worker;
using fabric_bench::require;

/// Keys that are found in turn.
constexpr std::size_t kCycle = 1024;

/// A table of the other process, of which `kept` entries are kept, and kCycle keys in it.
struct Cached {
  TableFixture table;
  std::vector<std::uint64_t> keys;

  void make(Thread& self, std::uint32_t kept) {
    table.make(
        self,
        {.mode = hashtable::Mode::kCached, .bytes = 2 << 20, .buckets = 1024, .cached = kept});
    keys = keys_of(1, 2, kCycle);
    if (table.table->detail().rank() == 1) {
      for (const std::uint64_t key : keys) {
        require(table.table->insert(key, key) == Status::kDone, "an insert");
      }
    }
    std::shuffle(keys.begin(), keys.end(), std::mt19937_64(7));
    self.barrier();
  }
};

bench::Case case_of(const NodePtr& node, const std::string& name, std::uint32_t kept,
                    bool whole_block) {
  const auto shared = std::make_shared<Cached>();
  const auto find = [=](Thread&, bench::Batch& batch) {
    return batch.ns_each([&] {
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
        const std::uint64_t key = shared->keys[i % kCycle];
        require(shared->table.table->find(key) == key, "a wrong value");
      }
    });
  };
  const auto read = [=](Thread& self, bench::Batch& batch) {
    ByHand raw(self, *shared->table.table);
    std::vector<dtutils::RemoteMemoryLocator> places;
    for (const std::uint64_t key : shared->keys) {
      places.push_back(whole_block ? raw.place(*shared->table.table, key, 0, Table::kBlockBytes / 8)
                                   : raw.slot(*shared->table.table, key).part(0, 8));
    }
    return batch.ns_each([&] {
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) raw.read(places[i % kCycle]);
    });
  };
  return {.name = name,
          .size = 8,
          .variants = {{.name = "read", .measure = on_worker(node, read)},
                       {.name = "find", .measure = on_worker(node, find)}},
          .ratios = {{.over = "find", .under = "read"}},
          .prepare = collectively(node, [=](Thread& self) { shared->make(self, kept); }),
          .finish = collectively(node, [=](Thread& self) { shared->table.end(self); })};
}

}  // namespace

void add_cache_cases(bench::Suite& suite, const NodePtr& node) {
  suite.add(case_of(node, "find_cached_hit", 1 << 16, false));
  suite.add(case_of(node, "find_cached_miss", 1, true));
}

}  // namespace services_bench
