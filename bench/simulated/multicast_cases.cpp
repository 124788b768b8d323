// SPDX-License-Identifier: MIT
// A large message to all nodes of a simulated cluster, by each schedule.
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bench/simulated/cases.hpp"
#include "dsfabric/group.hpp"
#include "dtutils/clock.hpp"
#include "groups/groups.hpp"
#include "sst/pace.hpp"

namespace simulated_bench {
namespace {

using groups::Schedule;

constexpr std::uint32_t kMessage = 16u << 20;
constexpr std::uint32_t kSmokeMessage = 1u << 20;
constexpr std::uint32_t kBlock = 256u << 10;

/// Bytes a second that each receiver gets, from node 0, until it knows that all have all.
double send_all(std::uint32_t members, std::uint32_t bytes, Schedule schedule) {
  double seconds = 0;
  run(members, std::size_t{2} * bytes, [&](dsfabric::Fabric& fabric) {
    fabric.run([&](dsfabric::Thread& self) {
      std::vector<dsfabric::ThreadId> names;
      for (std::uint16_t i = 0; i < members; ++i) names.push_back({{i}, 0});
      dsfabric::Group group(self, names);
      dtutils::RDMAMemory memory = fabric.general_allocator().allocate(bytes);
      std::memset(memory.data(), static_cast<int>(group.rank()) + 1, bytes);
      bool received = false;
      groups::LargeMulticast multicast(
          group, {.max_message = bytes, .block = kBlock, .schedule = schedule},
          {.buffer = [&](std::uint32_t, std::uint64_t) { return std::move(memory); },
           .received =
               [&](std::uint32_t, dtutils::RDMAMemory from, std::uint64_t length) {
                 received = true;
                 require(from.data()[length - 1] == std::byte{1}, "a message was changed");
               }});
      sst::Pace pace(fabric);
      group.barrier();
      if (group.rank() == 0) {
        const auto begin = dtutils::Clock::now();
        multicast.send(memory, bytes);
        while (multicast.sending()) pace.after(multicast.progress());
        seconds = std::chrono::duration<double>(dtutils::Clock::now() - begin).count();
      } else {
        while (!received) pace.after(multicast.progress());
      }
      group.barrier();
    });
  });
  return bytes / seconds;
}

void add_size(bench::Suite& suite, std::uint32_t members, const char* bar) {
  bench::Case item{.name = "binomial_pipeline_" + std::to_string(members) + "_members",
                   .size = kMessage,
                   .unit = bench::Unit::kBytesPerSecond,
                   .ratios = {{.over = "pipeline", .under = "sequential", .bar = bar},
                              {.over = "tree", .under = "sequential"},
                              {.over = "chain", .under = "sequential"}},
                   .virtual_time = true,
                   .max_iterations = 1};
  constexpr std::array<std::pair<const char*, Schedule>, 4> kVariants{{
      {"pipeline", Schedule::kBinomialPipeline},
      {"tree", Schedule::kBinomialTree},
      {"chain", Schedule::kChain},
      {"sequential", Schedule::kSequential},
  }};
  for (const auto& [name, schedule] : kVariants) {
    item.variants.push_back(variant(name, [members, which = schedule](bool smoke) {
      return send_all(members, smoke ? kSmokeMessage : kMessage, which);
    }));
  }
  suite.add(std::move(item));
}

}  // namespace

void add_multicast_cases(bench::Suite& suite) {
  add_size(suite, 4, ">= 1.5");
  add_size(suite, 8, ">= 2.2");
}

}  // namespace simulated_bench
