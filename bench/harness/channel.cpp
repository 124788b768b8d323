// SPDX-License-Identifier: MIT
// Barrier and exchange over the control block.
#include "bench/harness/channel.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "bench/harness/wait.hpp"

namespace bench {

Channel::Channel(ControlBlock& block, int rank, int processes, std::vector<int> cores) noexcept
    : block_(block), rank_(rank), processes_(processes), cores_(std::move(cores)) {}

void Channel::barrier() {
  const std::uint64_t target = ++barriers_;
  // Release: what this process wrote before is seen by those whose acquire below reads `target`.
  block_.process[rank_].arrived.value.store(target, std::memory_order_release);
  for (int other = 0; other < processes_; ++other) {
    const auto& arrived = block_.process[other].arrived.value;
    // Acquire: partner of the release above in process `other`.
    wait_until([&] { return arrived.load(std::memory_order_acquire) >= target; },
               "the other process at a barrier");
  }
}

std::vector<std::string> Channel::gather_bytes(std::string_view mine) {
  if (mine.size() > kMailboxBytes) {
    throw std::length_error(
        fmt::format("{} bytes do not fit a mailbox of {} bytes", mine.size(), kMailboxBytes));
  }
  ProcessBlock& own = block_.process[rank_];
  mine.copy(own.mail.data(), mine.size());
  // Relaxed: the barrier orders it, and the bytes, before the reads of the others.
  own.mail_bytes.store(static_cast<std::uint32_t>(mine.size()), std::memory_order_relaxed);
  barrier();
  std::vector<std::string> all;
  for (int other = 0; other < processes_; ++other) {
    const ProcessBlock& block = block_.process[other];
    all.emplace_back(block.mail.data(), block.mail_bytes.load(std::memory_order_relaxed));
  }
  barrier();  // nobody writes its mailbox again before all have read it
  return all;
}

std::atomic<std::uint64_t>& Channel::counter(int rank, int index) noexcept {
  return block_.process[rank].counters[index].value;
}

}  // namespace bench
