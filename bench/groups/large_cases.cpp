// SPDX-License-Identifier: MIT
// A large message to all members by each schedule, beside sending it to one after the other.
#include <array>
#include <string>

#include "bench/groups/group.hpp"
#include "dsfabric/group.hpp"
#include "groups/groups.hpp"

namespace groups_bench {
namespace {

using groups::Schedule;

constexpr std::uint32_t kMessage = 16u << 20;
constexpr std::uint32_t kBlock = 256u << 10;

/// Bytes a second that each receiver gets, from process 0, until it knows that all have all.
double send_all(sst_bench::Node& node, bench::Batch& batch, std::uint32_t members,
                Schedule schedule) {
  double rate = 0;
  node.fabric.run([&](dsfabric::Thread& self) {
    if (node.fabric.process().value >= members) return;
    std::vector<dsfabric::ThreadId> names;
    for (const auto process : sst_bench::first_processes(members)) names.push_back({process, 0});
    dsfabric::Group group(self, names);
    dtutils::RDMAMemory memory = node.fabric.general_allocator().allocate(kMessage);
    // All pages are there before the clock starts.
    std::memset(memory.data(), static_cast<int>(group.rank()), kMessage);
    std::uint64_t received = 0;
    groups::LargeMulticast multicast(
        group, {.max_message = kMessage, .block = kBlock, .schedule = schedule},
        {.buffer = [&](std::uint32_t, std::uint64_t) { return std::move(memory); },
         .received =
             [&](std::uint32_t, dtutils::RDMAMemory from, std::uint64_t bytes) {
               memory = std::move(from);
               ++received;
               std::uint64_t last;
               std::memcpy(&last, memory.data() + bytes - sizeof last, sizeof last);
               require(last == received, "a message was lost or changed on its way");
             }});
    sst::Pace pace(node.fabric, sst_bench::first_processes(members));
    const std::uint64_t messages = batch.iterations();
    group.barrier();
    if (group.rank() == 0) {
      rate = batch.bytes_per_second(kMessage, [&] {
        for (std::uint64_t number = 1; number <= messages; ++number) {
          std::memcpy(memory.data() + kMessage - sizeof number, &number, sizeof number);
          multicast.send(memory, kMessage);
          while (multicast.sending()) pace.after(multicast.progress());
        }
      });
    } else {
      while (received < messages) pace.after(multicast.progress());
    }
    group.barrier();
  });
  return rate;
}

void add_size(bench::Suite& suite, const NodePtr& node, std::uint32_t members, const char* bar) {
  bench::Case item{.name = "binomial_pipeline_" + std::to_string(members) + "_members",
                   .size = kMessage,
                   .unit = bench::Unit::kBytesPerSecond,
                   .ratios = {{.over = "pipeline", .under = "sequential", .bar = bar},
                              {.over = "tree", .under = "sequential"},
                              {.over = "chain", .under = "sequential"}},
                   .oversubscribed = true};
  constexpr std::array<std::pair<const char*, Schedule>, 4> kVariants{{
      {"pipeline", Schedule::kBinomialPipeline},
      {"tree", Schedule::kBinomialTree},
      {"chain", Schedule::kChain},
      {"sequential", Schedule::kSequential},
  }};
  for (const auto& [name, schedule] : kVariants) {
    const auto run = [&node, members, which = schedule](bench::Batch& batch) {
      return send_all(*node, batch, members, which);
    };
    item.variants.push_back({.name = name, .measure = run, .assist = run});
  }
  suite.add(std::move(item));
}

}  // namespace

void add_large_cases(bench::Suite& suite, const NodePtr& node) {
  add_size(suite, node, 4, ">= 1.5");
  add_size(suite, node, 8, ">= 2.2");
}

}  // namespace groups_bench
