// SPDX-License-Identifier: MIT
// Level 2: a Transmitter. It signals, polls and recycles by itself.
#include "dtutils/transmitter.hpp"

#include <chrono>

#include "dtutils/error.hpp"
#include "job.hpp"

namespace levels {

Cost send_by_transmitter(const Job& job, Wire& wire) {
  const int first_line = __LINE__;
  const auto device = dtutils::open_device(job.device);
  dtutils::ProtectionDomain pd(*device);
  dtutils::CompletionQueue receives(*device, 16);
  dtutils::Transmitter transmitter(pd, receives, dtutils::TransmitterOptions::for_threads(1));
  transmitter.connect(wire.exchange(transmitter.endpoint()));
  const auto target = wire.exchange(dtutils::RemoteMemoryLocator{});

  const auto start = std::chrono::steady_clock::now();
  bool sent = true;
  for (std::uint64_t i = 1; sent && i <= job.count; ++i) {
    sent = transmitter.write({&i, 8, 0}, target.part(i % kSlots * 8, 8), dtutils::kInlined);
  }
  if (!sent || !transmitter.flush()) {
    throw dtutils::Error("level 2", dtutils::describe(*transmitter.error()), "run it again");
  }
  const auto end = std::chrono::steady_clock::now();
  const int last_line = __LINE__;
  wire.exchange(true);  // the target may go now
  const double time = std::chrono::duration<double, std::nano>(end - start).count();
  return {last_line - first_line - 1, time / static_cast<double>(job.count)};
}

}  // namespace levels
