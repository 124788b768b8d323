// SPDX-License-Identifier: MIT
// Levels 3 to 5: the same program over three channels, which is all that differs between them.
#include "calls.hpp"
#include "riutils/riutils.hpp"

namespace levels {
namespace {

/// `open(self)` makes the channel that carries the calls.
template <class Open>
Cost send_by_calls(const Job& job, Wire& wire, Open open) {
  double each = 0;
  const int first_line = __LINE__;
  dsfabric::Fabric fabric = join(job, wire, 0);
  fabric.run([&](dsfabric::Thread& self) {
    auto calls = open(self);
    const auto start = std::chrono::steady_clock::now();
    bool made = true;
    for (std::uint64_t i = 1; made && i <= job.count; ++i) {
      made = calls.call(self.neighbour(1), Put{i}) == dsfabric::CallStatus::kAccepted;
    }
    wait_for_all(calls, self);
    each = nanoseconds_each(start, job);
    self.barrier();
  });
  const int last_line = __LINE__;
  return {last_line - first_line - 1, each};
}

}  // namespace

Cost send_by_fabric_call(const Job& job, Wire& wire) {
  return send_by_calls(job, wire, [](auto& self) { return dsfabric::SendChannel(self.fabric()); });
}

Cost send_by_messenger(const Job& job, Wire& wire) {
  return send_by_calls(job, wire, [](auto& self) { return riutils::RDMAMessengerGlobal(self); });
}

Cost send_by_aggregator(const Job& job, Wire& wire) {
  return send_by_calls(job, wire, [](auto& self) { return riutils::RDMAAggregator(self); });
}

}  // namespace levels
