// SPDX-License-Identifier: MIT
// Registered words of each process of a job, one for each other process to write.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/device_memory.hpp"

namespace support {

/// All processes make it, outside of run(); they tell each other by the bootstrap, so that nobody
/// connects.
class WordMemory {
 public:
  explicit WordMemory(dsfabric::Fabric& fabric)
      : fabric_(fabric),
        memory_(fabric.general_allocator().allocate(fabric.processes() * sizeof(std::uint64_t))) {
    std::memset(memory_.data(), 0, memory_.size());
    const dtutils::RemoteMemoryLocator mine = memory_.remote();
    for (const auto& bytes : fabric.exchange(std::as_bytes(std::span(&mine, 1)))) {
      std::memcpy(&peers_.emplace_back(), bytes.data(), sizeof mine);
    }
  }

  /// The word of this process in that one. False: it could not be written. Any thread.
  bool write(dsfabric::ProcessId to, std::uint64_t value) {
    dtutils::Transmitter& out = fabric_.transmitter(to);
    const std::uint64_t at = fabric_.process().value * sizeof value;
    return out.write({&value, sizeof value, 0}, peers_[to.value].part(at, sizeof value),
                     dtutils::kInlined) &&
           out.flush();
  }
  /// What process `from` has written here.
  std::uint64_t own(std::uint32_t from) const noexcept {
    return dtutils::load_device_word(reinterpret_cast<const std::uint64_t*>(memory_.data()) + from);
  }

 private:
  dsfabric::Fabric& fabric_;
  dtutils::RDMAMemory memory_;
  std::vector<dtutils::RemoteMemoryLocator> peers_;
};

}  // namespace support
