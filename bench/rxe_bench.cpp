// SPDX-License-Identifier: MIT
// Measures DTutils against perftest on one verbs device: Soft-RoCE, through scripts/vm bench.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/dtutils/hand_signaling.hpp"
#include "bench/dtutils/writes.hpp"
#include "bench/harness/constants.hpp"
#include "bench/rxe/emulated.hpp"
#include "bench/rxe/latency.hpp"
#include "bench/rxe/perftest.hpp"

namespace {

using link_bench::EndsPtr;

struct Size {
  std::uint32_t bytes;
  std::uint64_t rounds;  // of a ping-pong
  std::uint64_t writes;
};
using Sizes = std::vector<Size>;

// In an emulator a packet of 1 KiB takes about 10 us, and a batch must outlast the host's hiccups.
Sizes sizes(bool smoke) {
  if (smoke) return {{8, 500, 2048}, {4096, 150, 800}, {65536, 20, 96}};
  return {{8, 5000, 20480}, {4096, 1500, 8192}, {65536, 200, 960}};
}

// Soft-RoCE works in kernel threads on the cores of the bench: waiting for a core is part of it.
bench::Case comparison(const std::string& name, const Size& size, std::uint64_t iterations,
                       bench::Unit unit, const std::string& bar, bench::Variant ours,
                       std::function<double(bench::Batch&)> perftest) {
  return {.name = name,
          .size = size.bytes,
          .unit = unit,
          .variants = {std::move(ours), {.name = "perftest", .measure = std::move(perftest)}},
          .ratios = {{.over = "cariama", .under = "perftest", .bar = bar}},
          .oversubscribed = true,
          .min_iterations = iterations,
          .max_iterations = iterations};
}

void add_latency(bench::Suite& suite, const EndsPtr& ends, const Sizes& sizes,
                 const std::string& name,
                 double (*measure)(link_bench::Link&, bench::Batch&, std::uint32_t),
                 const char* program, const std::string& bar) {
  for (const Size& size : sizes) {
    const auto ours = [=, &ends](bench::Batch& batch) {
      return measure(ends->link, batch, size.bytes);
    };
    suite.add(comparison(
        name, size, size.rounds, bench::Unit::kNanoseconds, bar,
        {.name = "cariama", .measure = ours, .assist = ours}, [=, &ends](bench::Batch& batch) {
          return link_bench::perftest_latency(ends->link, batch, program, size.bytes);
        }));
  }
}

void add_bandwidth(bench::Suite& suite, const EndsPtr& ends, const Sizes& sizes) {
  // As ib_write_bw: small payloads pass through 4 KiB, a cache line each; large ones stay in place.
  constexpr std::uint32_t kInPlace = 4096;
  constexpr std::uint64_t kSlots = 64;
  for (const Size& size : sizes) {
    const link_bench::Slots slots(size.bytes, size.bytes < kInPlace ? kSlots : 1);
    suite.add(comparison("rxe_write_bandwidth_vs_perftest", size, size.writes,
                         bench::Unit::kBytesPerSecond, ">= 0.95",
                         link_bench::writing("cariama", ends, slots, bench::Unit::kBytesPerSecond,
                                             link_bench::write_by_queue_pair),
                         [=, &ends](bench::Batch& batch) {
                           return link_bench::perftest_bandwidth(ends->link, batch, size.bytes);
                         }));
  }
}

// perftest offers no inline data on Soft-RoCE, so ours goes without too.
dtutils::QueuePairOptions queue_pair_options() {
  dtutils::QueuePairOptions options;
  options.send_depth = link_bench::HandSignaling::kWindow;
  options.max_inline = 0;
  options.exclusive = true;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  std::string device = "rxe0";
  bool skipped = false;
  EndsPtr ends;
  std::vector<std::string> arguments(argv, argv + argc);
  link_bench::add_defaults(arguments);
  const Sizes wanted = sizes(link_bench::given(arguments, "--smoke"));
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  bench::Suite suite(static_cast<int>(pointers.size()), pointers.data(), "rxe_bench",
                     "DTutils beside perftest on one verbs device");
  suite.option("--device", device, "Verbs device to measure");
  suite.setup([&](bench::Channel& channel) {
    if (link_bench::lacks_device(channel, device, "rxe", skipped)) return;
    ends = std::make_unique<link_bench::Ends>(channel, device, queue_pair_options());
  });
  suite.teardown([&](bench::Channel& channel) {
    channel.barrier();  // nobody breaks a queue pair that the other one still uses
    ends.reset();
  });
  add_latency(suite, ends, wanted, "rxe_write_latency_vs_perftest", link_bench::write_latency,
              "ib_write_lat", "<= 1.05");
  add_latency(suite, ends, wanted, "rxe_send_latency_vs_perftest", link_bench::send_latency,
              "ib_send_lat", "");
  add_bandwidth(suite, ends, wanted);
  const int status = suite.run();
  return skipped ? bench::kSkipped : status;
}
