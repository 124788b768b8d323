// SPDX-License-Identifier: MIT
// Rows of chunks of a superpage: a row that another thread took a part of leaves nothing claimed.
#include "memory/superpage.hpp"

#include <atomic>
#include <memory>

#include "dtutils/protection_domain.hpp"
#include "dtutils/unit/interrupter.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/device_under_test.hpp"
#include "support/fake_device.hpp"

using namespace dtutils;

namespace {

struct NoOwner final : dtutils::detail::MemoryOwner {
  void take_back(dtutils::detail::MemorySlot& /*slot*/) noexcept override {}
};

/// Several words of the bitmap, so that it takes a while to claim them all.
constexpr std::size_t kBitmapChunks = 1024;

Superpage* shared_superpage = nullptr;
std::atomic<bool> claims_row{false};
std::atomic<ChunkRecord*> taken_chunk{nullptr};

void take_one_from_the_row() {
  if (claims_row && taken_chunk == nullptr) taken_chunk = shared_superpage->claim(1);
}

}  // namespace

TEST_CASE("row_that_another_thread_takes_a_part_of_leaves_no_chunk_claimed") {
  if (!support::kCanInterrupt) {
    WARN("SKIPPED: signals are held back here");
    return;
  }
  support::FakeDevice device;
  ProtectionDomain pd(device);
  NoOwner owner;
  Superpage superpage(pd,
                      std::make_unique<SharedSegment>(kBitmapChunks * kPage, PageKind::kSmall, -1),
                      kPage, kAccessAll, owner, 1);
  shared_superpage = &superpage;
  ChunkRecord* const first = superpage.claim(1);
  superpage.release(*first);

  int parts_taken = 0;
  {
    const support::Interrupter other(take_one_from_the_row);
    Deadline deadline(support::kPatience);
    while (parts_taken < 5 && !deadline.passed()) {
      claims_row = true;
      ChunkRecord* const row = superpage.claim(kBitmapChunks);
      claims_row = false;
      ChunkRecord* const one = taken_chunk.exchange(nullptr);
      // Not the first chunk, since that belonged to the row already.
      if (row == nullptr && one != nullptr && one != first) ++parts_taken;
      if (row != nullptr) superpage.release(*row);
      if (one != nullptr) superpage.release(*one);
    }
  }
  CHECK(parts_taken == 5);
  CHECK(superpage.in_use() == 0);
  CHECK(superpage.invariant());
}
