// SPDX-License-Identifier: MIT
// How many writes a second: Transmitter, QueuePair, libibverbs alone and UCX.
#include "bench/dtutils/cases.hpp"
#include "bench/dtutils/ucx.hpp"
#include "bench/dtutils/writes.hpp"

namespace link_bench {
namespace {

struct Way {
  const char* name;
  Write write;
};

// `over` against `under`, at each size of the table of bars.
void add_comparison(bench::Suite& suite, const EndsPtr& ends, const std::string& name,
                    const Way& over, const Way& under, const std::string& bar) {
  for (const std::uint32_t size : {8, 64, 256, 1024, 4096}) {
    const Slots slots(size);
    suite.add({.name = name,
               .size = size,
               .unit = bench::Unit::kPerSecond,
               .variants = {writing(over.name, ends, slots, bench::Unit::kPerSecond, over.write),
                            writing(under.name, ends, slots, bench::Unit::kPerSecond, under.write)},
               .ratios = {{.over = over.name, .under = under.name, .bar = bar}}});
  }
}

}  // namespace

void add_rate_cases(bench::Suite& suite, const EndsPtr& ends) {
  const Way queue_pair{"queue_pair", write_by_queue_pair};
  const Way exclusive{"transmitter", write_by_exclusive};
  add_comparison(suite, ends, "transmitter_vs_queue_pair", exclusive, queue_pair, ">= 0.97");
  add_comparison(suite, ends, "transmitter_shared_vs_queue_pair",
                 {"transmitter_shared", write_by_shared}, queue_pair, ">= 0.8");
  add_comparison(suite, ends, "queue_pair_vs_raw", queue_pair, {"raw", write_raw}, ">= 0.97");

  const auto add_figure_2 = [&](const char* name, bench::Unit unit) {
    constexpr std::uint32_t kLargest = 1u << 20;
    for (std::uint32_t size = 1; size <= kLargest; size *= 4) {
      const Slots slots(size);
      suite.add({.name = name,
                 .size = size,
                 .unit = unit,
                 .variants = {writing("queue_pair", ends, slots, unit, write_by_queue_pair),
                              writing("transmitter", ends, slots, unit, write_by_exclusive)}});
    }
  };
  add_figure_2("write_rate", bench::Unit::kPerSecond);
  add_figure_2("write_throughput", bench::Unit::kBytesPerSecond);

  for (const std::uint32_t size : {8, 256, 4096}) {
    suite.add({.name = "write_rate_vs_ucx",
               .size = size,
               .unit = bench::Unit::kPerSecond,
               .variants = {writing("transmitter", ends, Slots(size), bench::Unit::kPerSecond,
                                    write_by_exclusive),
                            ucx_put_rate(ends, size)},
               .ratios = {{.over = "transmitter", .under = "ucx_put"}}});
  }
}

}  // namespace link_bench
