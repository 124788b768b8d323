// SPDX-License-Identifier: MIT
// Entries of variable size: one by one, and in batches.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/services/hashtable_cases.hpp"

namespace services_bench {
namespace {

using dsfabric::Thread;
using fabric_bench::NodePtr;
using fabric_bench::on_worker;
using fabric_bench::require;
using Texts = hashtable::HashTable<std::string, std::string>;

constexpr std::size_t kBatchOfTexts = 256;
constexpr std::size_t kTextBytes = 100;

/// Entries whose home is the other process.
struct TextsThere {
  std::unique_ptr<Texts> table;
  std::vector<std::string> keys;

  void make(Thread& self, hashtable::Mode mode) {
    table = std::make_unique<Texts>(
        self, hashtable::Options{.mode = mode, .bytes = 8 << 20, .max_entry = 32 << 10});
    keys.clear();
    for (int i = 0; keys.size() < kBatchOfTexts; ++i) {
      std::string key = "a key of some bytes " + std::to_string(i);
      if (self.fabric().rank_of(table->home_of(key)) == 1) keys.push_back(std::move(key));
    }
    if (self.fabric().rank_of(self.id()) == 0) {
      for (const auto& key : keys) {
        require(table->insert(key, std::string(kTextBytes, 'v')) == Status::kDone, "an insert");
      }
    }
    self.barrier();
  }
};

bench::Case case_of(const NodePtr& node, const std::string& name, hashtable::Mode mode,
                    Operation operation) {
  const auto shared = std::make_shared<TextsThere>();
  const std::string text(kTextBytes, 'w');
  const auto single = [=](bench::Batch& batch) {
    Texts& table = *shared->table;
    return batch.ns_each([&] {
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
        const std::string& key = shared->keys[i % kBatchOfTexts];
        const bool done = operation == Operation::kFind ? table.find(key).has_value()
                                                        : table.update(key, text) == Status::kDone;
        require(done, "an operation");
      }
    });
  };
  const auto together = [=](bench::Batch& batch) {
    const std::uint64_t batches = (batch.iterations() + kBatchOfTexts - 1) / kBatchOfTexts;
    const double ns = batch.time_ns([&] {
      for (std::uint64_t i = 0; i < batches; ++i) {
        std::vector<Texts::Item> items;
        for (const auto& key : shared->keys) {
          if (operation == Operation::kFind) {
            items.emplace_back(operation, key);
          } else {
            items.emplace_back(operation, key, text);
          }
        }
        shared->table->perform(items);
        for (const auto& item : items) require(item.status() == Status::kDone, "an operation");
      }
    });
    return ns / static_cast<double>(batches * kBatchOfTexts);
  };
  const auto variant = [&](const std::string& which, auto work) {
    // The other process serves meanwhile.
    return bench::Variant{.name = which,
                          .measure = on_worker(node,
                                               [=](Thread& self, bench::Batch& batch) {
                                                 const double ns = work(batch);
                                                 self.barrier();
                                                 return ns;
                                               }),
                          .assist = on_worker(node, [](Thread& self, bench::Batch&) {
                            self.barrier();
                            return 0.0;
                          })};
  };
  return {.name = name,
          .size = kTextBytes,
          .variants = {variant("single", single), variant("batch", together)},
          .ratios = {{.over = "single", .under = "batch"}},
          .prepare = collectively(node, [=](Thread& self) { shared->make(self, mode); }),
          .finish = collectively(node, [=](Thread& self) {
            self.barrier();
            shared->table.reset();
          })};
}

}  // namespace

void add_pieces_cases(bench::Suite& suite, const NodePtr& node) {
  using hashtable::Mode;
  suite.add(case_of(node, "pieces_find", Mode::kOneSided, Operation::kFind));
  suite.add(case_of(node, "pieces_update", Mode::kOneSided, Operation::kUpdate));
  suite.add(case_of(node, "pieces_update_by_call", Mode::kByCall, Operation::kUpdate));
}

}  // namespace services_bench
