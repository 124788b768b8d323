// SPDX-License-Identifier: MIT
// What the wire alone could do: the writes of calls, without calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "fabric/node.hpp"
#include "riutils/stream.hpp"

namespace ring_bench {

/// Writes of as many bytes as a call puts on the wire, one after the other in memory as large as a
/// ring's, through the Transmitter that the calls take.
template <std::size_t kBytes>
double write_raw(dsfabric::Thread& self, bench::Batch& batch) {
  constexpr std::uint32_t kSize = kBytes + 2 * riutils::kRingWord;
  dsfabric::SymmetricBuffer area(self, std::size_t{128} << 10);
  double rate = 0;
  if (batch.rank() == 0) {
    dtutils::Transmitter& transmitter = self.transmitter(self.neighbour(1).process);
    const dtutils::RemoteMemoryLocator there = area.at(self.neighbour(1));
    const unsigned flags =
        kSize <= transmitter.queue_pair().max_inline() ? dtutils::kInlined : dtutils::kUnsignaled;
    const std::size_t slots = area.memory().size() / kSize;
    rate = batch.per_second([&] {
      std::size_t slot = 0;
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
        const std::size_t at = slot * kSize;
        require(transmitter.write(area.memory().local(at, kSize), there.part(at, kSize), flags),
                "the peer is gone");
        slot = slot + 1 < slots ? slot + 1 : 0;
      }
      require(transmitter.flush(), "the peer is gone");
    });
  }
  self.barrier();
  return rate;
}

template <std::size_t kBytes>
bench::Variant raw_writes(const std::string& name, const fabric_bench::NodePtr& node) {
  const auto run = fabric_bench::on_worker(node, write_raw<kBytes>);
  return {.name = name, .measure = run, .assist = run};
}

}  // namespace ring_bench
