// SPDX-License-Identifier: MIT
// Chunks on their way from the service thread that allocated them to the thread they are for.
#pragma once

#include <vector>

#include "dsfabric/ids.hpp"
#include "dtutils/memory_region.hpp"
#include "dtutils/rdma_memory.hpp"
#include "riutils/detail/ring_header.hpp"

namespace riutils {

struct NewChunks {
  /// Who will write into them.
  dsfabric::ThreadId sender;
  detail::RingKind kind;
  /// Where the sender wants to be told of consumption.
  dtutils::RemoteMemoryLocator consumed_word;
  /// Each with a zero in its highest word.
  std::vector<dtutils::RDMAMemory> chunks;
};

}  // namespace riutils
