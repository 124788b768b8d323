// SPDX-License-Identifier: MIT
// A general allocator, and the registered memory that it takes its areas from.
#pragma once

#include "dtutils/general_allocator.hpp"
#include "dtutils/unit/source.hpp"

namespace support {

struct GeneralFixture {
  explicit GeneralFixture(const dtutils::GeneralAllocatorOptions& options = {})
      : general(source.allocator, options) {}

  Source source{dtutils::RDMAAllocatorOptions{.superpage = 16 * dtutils::kChunk,
                                              .limit = 64 * dtutils::kChunk,
                                              .page_kinds = {dtutils::PageKind::kSmall}}};
  dtutils::GeneralAllocator general;
};

}  // namespace support
