// SPDX-License-Identifier: MIT
// Many acquisitions: 2 and 8 owners on one lock, and on 100 000 locks by Zipf's law.
#include <mutex>
#include <shared_mutex>

#include "bench/services/lock_draws.hpp"
#include "bench/services/locks_cases.hpp"

namespace services_bench {
namespace {

using locks::LockId;
using locks::SharedMutex;

template <class M>
double contend(dsfabric::Thread& self, bench::Batch& batch, locks::LockSpace& space,
               const LockDraws& draws) {
  const std::uint32_t owners = self.fabric().total_threads();
  self.barrier();
  const double rate = batch.per_second([&] {
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      const std::uint32_t draw = draws[i % kLockDraws];
      const std::uint32_t lock = draw >> 1;
      SharedMutex<M> mutex(space, LockId{{static_cast<std::uint16_t>((lock + 1) % 2)}, lock / 2});
      if ((draw & 1) != 0) {
        const std::shared_lock held(mutex);
      } else {
        const std::unique_lock held(mutex);
      }
    }
    self.barrier();
  });
  return rate * owners;
}

struct Contenders {
  fabric_bench::NodePtr own;
  LockSpaces spaces;
  std::vector<LockDraws> draws;
};

template <class M>
bench::Variant variant(const char* name, const fabric_bench::NodePtr& node,
                       const std::shared_ptr<Contenders>& contenders) {
  const auto run = [=, &node](bench::Batch& batch) {
    fabric_bench::Node& used = contenders->own ? *contenders->own : *node;
    return used.run([&](dsfabric::Thread& self) {
      return contend<M>(self, batch, contenders->spaces.of<M>(self),
                        contenders->draws[self.id().index]);
    });
  };
  return {.name = name, .measure = run, .assist = [=](bench::Batch& batch) { (void)run(batch); }};
}

void add_case(bench::Suite& suite, const fabric_bench::NodePtr& node, const std::string& device,
              const char* name, std::uint32_t owners, LockDraws (*draw)(std::uint64_t),
              const char* bar) {
  const auto contenders = std::make_shared<Contenders>();
  bench::Case item{.name = name,
                   .size = owners,
                   .unit = bench::Unit::kPerSecond,
                   .variants = {variant<locks::Ncosed>("ncosed", node, contenders),
                                variant<locks::Dqnl>("dqnl", node, contenders),
                                variant<locks::Dslr>("dslr", node, contenders),
                                variant<locks::Srsl>("srsl", node, contenders)}};
  for (const char* other : {"dqnl", "dslr", "srsl"}) {
    item.ratios.push_back({.over = "ncosed", .under = other, .bar = bar});
  }
  item.prepare = [=, &node, &device](bench::Channel& channel) {
    if (owners > 2) {
      contenders->own = std::make_unique<fabric_bench::Node>(channel, device, owners / 2);
    }
    fabric_bench::Node& used = contenders->own ? *contenders->own : *node;
    contenders->spaces.make(used, owners / 2, kDrawnLocks / 2);
    contenders->draws.clear();
    for (std::uint32_t i = 0; i < owners / 2; ++i) {
      contenders->draws.push_back(draw(static_cast<std::uint64_t>(channel.rank()) * 64 + i + 1));
    }
  };
  item.finish = [=, &node](bench::Channel&) {
    contenders->spaces.reset(contenders->own ? *contenders->own : *node);
    contenders->own.reset();
  };
  item.oversubscribed = owners > 2;
  suite.add(std::move(item));
}

}  // namespace

void add_lock_contended_cases(bench::Suite& suite, const fabric_bench::NodePtr& node,
                              const std::string& device) {
  for (const std::uint32_t owners : {2u, 8u}) {
    add_case(suite, node, device, "lock_contended_one", owners, &draw_one_lock, ">= 1.0");
    add_case(suite, node, device, "lock_contended_zipf", owners, &draw_locks_by_zipf, ">= 1.2");
  }
}

}  // namespace services_bench
