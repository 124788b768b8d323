// SPDX-License-Identifier: MIT
// Registered memory of a device without a data path, which allocators under test hand out.
#pragma once

#include <cstddef>

#include "dtutils/rdma_allocator.hpp"
#include "support/fake_device.hpp"

namespace support {

struct Source {
  explicit Source(const dtutils::RDMAAllocatorOptions& options) : allocator(pd, {}, options) {}
  /// Of that many chunks and no more, on pages that every machine has.
  explicit Source(std::size_t chunks = 64)
      : Source({.superpage = chunks * dtutils::kChunk,
                .limit = chunks * dtutils::kChunk,
                .page_kinds = {dtutils::PageKind::kSmall}}) {}

  FakeDevice device;
  dtutils::ProtectionDomain pd{device};
  dtutils::RDMAAllocator allocator;
};

}  // namespace support
