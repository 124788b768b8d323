// SPDX-License-Identifier: MIT
// The target: its CPU only looks at its own memory; the counters arrive by themselves.
#include <chrono>

#include "dtutils/device_memory.hpp"
#include "dtutils/queue_pair.hpp"
#include "dtutils/shared_segment.hpp"
#include "dtutils/wait.hpp"
#include "job.hpp"

namespace levels {
namespace {

/// Without a new counter in the slot of the last one, which gets one of kSlots.
constexpr std::chrono::seconds kPatience{60};

}  // namespace

bool receive_writes(const Job& job, Wire& wire) {
  const auto device = dtutils::open_device(job.device);
  dtutils::ProtectionDomain pd(*device);
  dtutils::CompletionQueue completions(*device, 16);
  dtutils::QueuePair queue_pair(pd, completions, completions);
  dtutils::SharedSegment memory(kSlots * 8, dtutils::PageKind::kSmall, -1);
  dtutils::MemoryRegion region(pd, memory.data(), kSlots * 8);
  queue_pair.connect(wire.exchange(queue_pair.endpoint()));
  wire.exchange(region.remote());

  const auto* slots = reinterpret_cast<const std::uint64_t*>(memory.data());
  std::uint64_t last = 0;
  dtutils::Deadline deadline(kPatience);
  dtutils::Backoff backoff;
  while (last != job.count) {
    const std::uint64_t now = dtutils::load_device_word(&slots[job.count % kSlots]);
    if (now != last) deadline = dtutils::Deadline(kPatience);
    last = now;
    if (deadline.passed() || queue_pair.state() == IBV_QPS_ERR) return false;
    backoff.pause();
  }
  // The last counter is here before the sender knows that it is: its queue pair has to stay.
  wire.exchange(true);
  for (std::uint64_t slot = 0; slot < kSlots; ++slot) {
    if (dtutils::load_device_word(&slots[slot]) != expected(slot, job.count)) return false;
  }
  return true;
}

}  // namespace levels
