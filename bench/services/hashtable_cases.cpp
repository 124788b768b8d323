// SPDX-License-Identifier: MIT
// The hash table beside the raw operations that it is made of, and how many operations a second.
#include "bench/services/hashtable_cases.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "bench/services/cases.hpp"
#include "bench/services/hashtable_fixture.hpp"
#include "riutils/riutils.hpp"

namespace services_bench {
namespace {

using dsfabric::Thread;
using fabric_bench::NodePtr;
using fabric_bench::on_worker;
using fabric_bench::require;
using hashtable::Mode;

std::shared_ptr<TableFixture> fixture() { return std::make_shared<TableFixture>(); }

/// Process 1 serves until process 0 tells it to stop.
double serve(Thread& self, bench::Batch&) {
  fabric_bench::serve_until(self, [] { return fabric_bench::arrived().acknowledged != 0; });
  fabric_bench::arrived() = {};
  return 0;
}
void stop_serving(Thread& self) {
  riutils::RDMAMessengerGlobal calls(self);
  require(calls.call(self.neighbour(1), [] { fabric_bench::arrived().acknowledged = 1; }),
          "the peer is gone");
}

// --- find ------------------------------------------------------------------------------------

void add_find(bench::Suite& suite, const NodePtr& node) {
  constexpr std::size_t kKeys = 4096;
  const auto shared = fixture();
  const auto keys = std::make_shared<std::vector<std::uint64_t>>();
  const auto look = [=](Thread&, bench::Batch& batch) {
    std::size_t at = 0;
    return batch.ns_each([&] {
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
        const std::uint64_t key = (*keys)[at];
        at = (at + 1) % kKeys;
        require(shared->table->find(key) == key, "a wrong value");
      }
    });
  };
  const auto read = [=](Thread& self, bench::Batch& batch, bool marked) {
    ByHand raw(self, *shared->table);
    std::vector<dtutils::RemoteMemoryLocator> blocks;
    for (const std::uint64_t key : *keys) {
      blocks.push_back(raw.place(*shared->table, key, 0, Table::kBlockBytes / 8));
    }
    std::size_t at = 0;
    return batch.ns_each([&] {
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
        marked ? raw.read_marked(blocks[at]) : raw.read(blocks[at]);
        at = (at + 1) % kKeys;
      }
    });
  };
  const auto reads = [&](bool marked) {
    return on_worker(node,
                     [=](Thread& self, bench::Batch& batch) { return read(self, batch, marked); });
  };
  suite.add({.name = "find_one_sided",
             .size = 8,
             .variants = {{.name = "read", .measure = reads(false)},
                          {.name = "read_marked", .measure = reads(true)},
                          {.name = "find", .measure = on_worker(node, look)}},
             .ratios = {{.over = "find", .under = "read", .bar = "<= 1.2"},
                        {.over = "find", .under = "read_marked"}},
             .prepare = collectively(node,
                                     [=](Thread& self) {
                                       shared->make(self, {.bytes = 4 << 20, .buckets = 1024});
                                       *keys = keys_of(1, 2, kKeys);
                                       if (shared->table->detail().rank() == 1) {
                                         for (const std::uint64_t key : *keys) {
                                           require(shared->table->insert(key, key) == Status::kDone,
                                                   "an insert");
                                         }
                                       }
                                       std::shuffle(keys->begin(), keys->end(), std::mt19937_64(7));
                                       self.barrier();
                                     }),
             .finish = collectively(node, [=](Thread& self) { shared->end(self); })});
}

// --- insert ----------------------------------------------------------------------------------

constexpr std::size_t kInserts = 1024;

/// A new table; then `work(self, keys)`, timed. Its lines are in the cache of process 0, as those
/// of a table that it works on are; where process 1 is called, nobody else touches them, and they
/// are where it has made the table.
template <class Work>
auto on_new_table(const NodePtr& node, Mode mode, bool served, Work work) {
  const auto shared = fixture();
  return on_worker(node, [=](Thread& self, bench::Batch& batch) {
    shared->make(self, {.mode = mode, .bytes = 2 << 20, .buckets = 1024});
    std::vector<std::uint64_t> keys = keys_of(1, 2, kInserts);
    keys.resize(std::min<std::uint64_t>(kInserts, batch.iterations()));
    self.barrier();
    double ns = 0;
    if (shared->table->detail().rank() == 0) {
      if (!served) own_lines(self, *shared->table);
      ns = work(self, batch, *shared->table, keys) / static_cast<double>(keys.size());
      if (served) stop_serving(self);
    } else if (served) {
      (void)serve(self, batch);
    }
    shared->end(self);
    return ns;
  });
}

double insert_all(Thread&, bench::Batch& batch, Table& table,
                  const std::vector<std::uint64_t>& keys) {
  return batch.time_ns([&] {
    for (const std::uint64_t key : keys) {
      require(table.insert(key, key) == Status::kDone, "an insert");
    }
  });
}

void add_insert_one_sided(bench::Suite& suite, const NodePtr& node) {
  const auto by_hand = [](bool together) {
    return [together](Thread& self, bench::Batch& batch, Table& table,
                      const std::vector<std::uint64_t>& keys) {
      ByHand raw(self, table);
      std::vector<dtutils::RemoteMemoryLocator> slots;
      for (const std::uint64_t key : keys) slots.push_back(raw.slot(table, key));
      return batch.time_ns([&] {
        for (const auto& slot : slots) {
          if (together) {
            raw.write_and_swap(slot.part(8, slot.length - 8), slot.part(0, 8), 0, 0);
          } else {
            (void)raw.swap(slot.part(0, 8), 0, 1);
            raw.write(slot);
          }
        }
      });
    };
  };
  const auto variant = [&](const std::string& name, auto work) {
    const auto run = on_new_table(node, Mode::kOneSided, false, work);
    return bench::Variant{.name = name, .measure = run, .assist = run};
  };
  suite.add({.name = "insert_one_sided",
             .size = 8,
             .variants = {variant("swap_then_write", by_hand(false)),
                          variant("write_and_swap", by_hand(true)), variant("insert", insert_all)},
             .ratios = {{.over = "insert", .under = "swap_then_write", .bar = "<= 1.25"},
                        {.over = "insert", .under = "write_and_swap"}},
             .min_iterations = kInserts,
             .max_iterations = kInserts});
}

void add_insert_by_call(bench::Suite& suite, const NodePtr& node) {
  const auto ask = [](Thread& self, bench::Batch& batch, Table&,
                      const std::vector<std::uint64_t>& keys) {
    riutils::RDMAMessengerGlobal calls(self);
    dsfabric::ReturnSlot<std::uint64_t> slot(self.fabric());
    return batch.time_ns([&] {
      for (const std::uint64_t key : keys) {
        require(calls.call_return(
                    self.neighbour(1), [key] { return key + 1; }, slot),
                "the peer is gone");
        require(slot.get() == key + 1, "a wrong result");
      }
    });
  };
  const auto variant = [&](const std::string& name, auto work) {
    const auto run = on_new_table(node, Mode::kByCall, true, work);
    return bench::Variant{.name = name, .measure = run, .assist = run};
  };
  suite.add({.name = "insert_by_call",
             .size = 8,
             .variants = {variant("call_return", ask), variant("insert", insert_all)},
             .ratios = {{.over = "insert", .under = "call_return", .bar = "<= 1.25"}},
             .min_iterations = kInserts,
             .max_iterations = kInserts});
}

}  // namespace

void own_lines(dsfabric::Thread& self, Table& table) {
  ByHand raw(self, table);
  constexpr auto kShape = hashtable::detail::shape_of(1, 1);
  // A compare-and-swap that fails takes the line all the same.
  for (std::uint64_t bucket = 0; bucket < 1024; ++bucket) {
    const auto block =
        table.detail().port(1 - table.detail().rank()).bucket_of(bucket << (64 - 10));
    for (std::uint32_t word = 0; word < kShape.block_words; word += 8) {
      const auto region = table.detail().region_of(1 - table.detail().rank());
      (void)raw.swap(region.part(std::uint64_t{block.index()} * Table::kBlockBytes + word * 8, 8),
                     ~std::uint64_t{0}, 0);
    }
  }
}

void add_hashtable_cases(bench::Suite& suite, const NodePtr& node) {
  add_find(suite, node);
  add_insert_one_sided(suite, node);
  add_insert_by_call(suite, node);
  add_rate_cases(suite, node);
  add_pieces_cases(suite, node);
  add_cache_cases(suite, node);
  add_cost_cases(suite, node);
}

}  // namespace services_bench
