// SPDX-License-Identifier: MIT
// What it costs to run a handler as a fiber; in one process, without the way there.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bench/riutils/cases.hpp"
#include "dsfabric/detail/call_record.hpp"
#include "dsfabric/handler_scope.hpp"
#include "riutils/in_fiber.hpp"

namespace ring_bench {
namespace {

using dsfabric::Thread;

constexpr std::uint32_t kRecords = 256;

struct Add {
  std::uint64_t word;
  std::uint64_t* sum;
  void operator()() const { *sum += word; }
};
struct AddLater : Add {
  void operator()() const {
    riutils::FiberPool::wait_step();
    *sum += word;
  }
};

/// A block of calls as it arrives, all of one type.
template <class F>
std::vector<std::byte> records(const F& function) {
  constexpr std::uint32_t kSize = dsfabric::detail::record_size(sizeof(F));
  std::vector<std::byte> bytes(std::size_t{kSize} * kRecords);
  const dsfabric::detail::RecordHeader header{dsfabric::function_index<F>(), sizeof(F)};
  for (std::size_t at = 0; at < bytes.size(); at += kSize) {
    std::memcpy(&bytes[at], &header, sizeof header);
    std::memcpy(&bytes[at + sizeof header], static_cast<const void*>(&function), sizeof function);
  }
  return bytes;
}

/// Runs blocks until `calls` are done; what each took, in ns.
template <class Each>
double ns_each_call(std::uint64_t calls, Each&& block) {
  const std::uint64_t blocks = (calls + kRecords - 1) / kRecords;
  const double took = bench::time_ns([&] {
    for (std::uint64_t i = 0; i < blocks; ++i) block();
  });
  return took / static_cast<double>(blocks * kRecords);
}

void run(Thread& self, std::vector<std::byte>& block) {
  const dsfabric::HandlerScope scope(self.fabric());
  dsfabric::CallContext call{self.fabric(), self.id(), &self};
  (void)dsfabric::run_records(block, call);
}

/// The same handler both ways, in turns: the difference.
double over_inline(Thread& self, bench::Batch& batch) {
  const riutils::FiberPool fibers(self);
  std::uint64_t sum = 0;
  auto plain = records(Add{1, &sum});
  auto fiber = records(riutils::in_fiber(Add{1, &sum}));
  constexpr std::uint64_t kTurns = 8;
  const std::uint64_t calls = batch.iterations() / kTurns + 1;
  double difference = 0;
  for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
    difference -= ns_each_call(calls, [&] { run(self, plain); });
    difference += ns_each_call(calls, [&] { run(self, fiber); });
  }
  bench::keep(sum);
  return difference / kTurns;
}

/// A handler that waits once, among 255 others that wait too.
double waiting(Thread& self, bench::Batch& batch) {
  riutils::FiberPool fibers(self);
  std::uint64_t sum = 0;
  auto block = records(riutils::in_fiber(AddLater{{1, &sum}}));
  const double ns = ns_each_call(batch.iterations(), [&] {
    run(self, block);
    while (fibers.unfinished() != 0) fibers.progress();
  });
  bench::keep(sum);
  return ns;
}

}  // namespace

void add_fiber_cases(bench::Suite& suite, const fabric_bench::NodePtr& node) {
  suite.add({.name = "fiber_switch",
             .size = 16,
             .variants = {{.name = "over_inline",
                           .measure = fabric_bench::on_worker(node, over_inline),
                           .bar = "<= 25"}}});
  suite.add({.name = "fiber_wait",
             .size = 16,
             .variants = {
                 {.name = "start_and_resume", .measure = fabric_bench::on_worker(node, waiting)}}});
}

}  // namespace ring_bench
