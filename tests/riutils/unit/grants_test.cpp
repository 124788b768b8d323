// SPDX-License-Identifier: MIT
// Chunks that another process asks for: a request that makes no sense is granted nothing.
#include "ring/ring_limits.hpp"
#include "ring/ring_registry.hpp"
#include "riutils/support/ring_job.hpp"

using namespace dsfabric;
using namespace riutils;
using support::require_equal;

TEST_CASE("requests_for_chunks_that_make_no_sense_are_granted_nothing") {
  const std::string bad = support::run_job({1, 2}, 0, [](Thread& self) {
    if (self.id().index != 0) return;
    CallContext call{self.fabric(), self.id(), nullptr};
    auto word = self.fabric().general_allocator().allocate(dtutils::kCacheLine);
    const auto granted = [&](std::uint16_t receiver, std::uint32_t bytes, std::uint32_t chunks) {
      const GrantRequest request{receiver, riutils::detail::RingKind::kCalls, bytes, chunks,
                                 word.remote()};
      return RingRegistry::of(self.fabric())->grant(call, request).count;
    };
    require_equal(granted(2, 4096, 2), 0u, "chunks for a worker that does not exist");
    require_equal(granted(1, 4096, riutils::detail::Grant::kMaxChunks + 1), 0u,
                  "more chunks than are granted at once");
    require_equal(granted(1, kMinChunk - 64, 2), 0u, "chunks that are too small");
    require_equal(granted(1, kMaxChunk + 64, 2), 0u, "chunks that are too large");
    require_equal(granted(1, 4096 + 8, 2), 0u, "chunks that share cache lines");
    call.source = ThreadId::service_of(self.fabric().process());
    require_equal(granted(1, 4096, 2), 0u, "chunks for a service thread");
  });
  CHECK(bad == "");
}
