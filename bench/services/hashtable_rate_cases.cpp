// SPDX-License-Identifier: MIT
// How many operations a second two processes make on one hash table.
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/services/hashtable_cases.hpp"
#include "bench/services/hashtable_fixture.hpp"

namespace services_bench {
namespace {

using dsfabric::Thread;
using fabric_bench::NodePtr;
using fabric_bench::on_worker;
using fabric_bench::require;
using hashtable::Mode;

constexpr std::uint64_t kRateKeys = 1 << 18;

/// Numbers below `n` with Zipf's distribution (Gray et al., "Quickly generating billion-record
/// synthetic databases", 1994), spread over the keys.
std::vector<std::uint64_t> zipf(std::uint64_t n, double theta, std::size_t count,
                                std::uint64_t seed) {
  double zeta = 0;
  for (std::uint64_t i = 1; i <= n; ++i) zeta += 1 / std::pow(static_cast<double>(i), theta);
  const double alpha = 1 / (1 - theta);
  const double zeta_2 = 1 + std::pow(0.5, theta);
  const double eta = (1 - std::pow(2.0 / static_cast<double>(n), 1 - theta)) / (1 - zeta_2 / zeta);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const double u = uniform(random);
    const double scaled = u * zeta;
    const double rank = scaled < 1 ? 0
                        : scaled < zeta_2
                            ? 1
                            : static_cast<double>(n) * std::pow(eta * u - eta + 1, alpha);
    numbers.push_back(
        (std::min<std::uint64_t>(static_cast<std::uint64_t>(rank), n - 1) * 0x9e37'79b1 + 1) % n);
  }
  return numbers;
}

}  // namespace

void add_rate_cases(bench::Suite& suite, const NodePtr& node) {
  constexpr std::size_t kStream = 1 << 16;
  constexpr std::size_t kGroup = 1024;
  const auto shared = std::make_shared<TableFixture>();
  const auto items = std::make_shared<std::vector<Table::Item>>();
  const auto run = [=](Mode mode) {
    return [=](Thread& self, bench::Batch& batch) {
      for (const Operation operation : {Operation::kFind, Operation::kUpdate}) {
        shared->table->detail().by_call(operation, mode == Mode::kByCall);
      }
      const std::uint64_t groups = (batch.iterations() + kGroup - 1) / kGroup;
      self.barrier();
      const double ns = batch.time_ns([&] {
        for (std::uint64_t group = 0; group < groups; ++group) {
          shared->table->perform(std::span(*items).subspan(group * kGroup % kStream, kGroup));
        }
        self.barrier();
      });
      for (std::size_t i = 0; i < std::min<std::uint64_t>(groups * kGroup, kStream); ++i) {
        require((*items)[i].status() == Status::kDone, "an operation");
      }
      // Both processes do as many.
      return 2 * static_cast<double>(groups * kGroup) * 1e9 / ns;
    };
  };
  const auto variant = [&](const std::string& name, Mode mode, const std::string& bar) {
    const auto both = on_worker(node, run(mode));
    return bench::Variant{.name = name, .measure = both, .assist = both, .bar = bar};
  };
  suite.add({.name = "table_rate",
             .size = 95,
             .unit = bench::Unit::kPerSecond,
             .variants = {variant("by_call", Mode::kByCall, ">= 40e6"),
                          variant("one_sided", Mode::kOneSided, ">= 15e6")},
             .prepare = collectively(
                 node,
                 [=](Thread& self) {
                   shared->make(self, {.bytes = 24 << 20, .buckets = 1 << 14});
                   Table& table = *shared->table;
                   const std::uint64_t rank = table.detail().rank();
                   for (std::uint64_t key = 0; key < kRateKeys; ++key) {
                     const bool mine =
                         hashtable::detail::home_of(hashtable::detail::hash_of(&key, 1), 2) == rank;
                     if (mine) require(table.insert(key, key) == Status::kDone, "an insert");
                   }
                   items->clear();
                   std::mt19937_64 random(rank + 3);
                   for (const std::uint64_t key : zipf(kRateKeys, 0.99, kStream, rank + 1)) {
                     items->emplace_back(
                         random() % 100 < 95 ? Operation::kFind : Operation::kUpdate, key, key);
                   }
                   self.barrier();
                   for (std::uint32_t i = 0; i < 1 << 14; ++i) {  // the directory of the other one
                     table.detail().port(1 - table.detail().rank()).refresh(std::uint64_t{i} << 50);
                   }
                   self.barrier();
                 }),
             .finish = collectively(node, [=](Thread& self) {
               items->clear();
               shared->end(self);
             })});
}

}  // namespace services_bench
