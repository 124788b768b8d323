// SPDX-License-Identifier: MIT
// RDMA READ: brings exactly the asked bytes, as many reads at once as the send queue holds.
#include "support/catch.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

TEST_CASE("read_brings_exactly_the_asked_bytes") {
  SideOptions options;
  options.memory = 256 << 10;
  Pair pair(options);
  std::uint64_t id = 0;
  for (const std::size_t size : {1, 8, 65, 1023, 1024, 1025, 4096, 10000, 131072}) {
    for (const std::size_t offset : {0, 1, 4095}) {
      CAPTURE(size, offset);
      fill(pair.b.bytes().subspan(offset, size), static_cast<std::uint32_t>(size));
      std::memset(pair.a.bytes().data(), 0, pair.a.bytes().size());
      must(pair.a.qp.post_read(pair.a.local(2 * offset + 5, size), pair.b.remote(offset, size),
                               ++id, kSignaled));
      const ibv_wc read = success(pair.a.sends, id);
      CHECK(read.opcode == IBV_WC_RDMA_READ);
      CHECK(read.byte_len == size);
      const auto here = pair.a.bytes();
      CHECK(all_bytes(here.first(2 * offset + 5), 0));
      CHECK(holds(here.subspan(2 * offset + 5, size), static_cast<std::uint32_t>(size)));
      CHECK(all_bytes(here.subspan(2 * offset + 5 + size), 0));
    }
  }
  CHECK(stays_empty(pair.b.receives));
}

TEST_CASE("more_reads_than_the_read_depth_may_be_outstanding") {
  Pair pair;
  constexpr std::uint64_t kCount = 4 * kReadDepth;
  for (std::uint64_t i = 0; i < kCount; ++i) pair.b.at<std::uint64_t>(8 * i) = 1000 + i;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    must(pair.a.qp.post_read(pair.a.local(8 * i, 8), pair.b.remote(8 * i, 8), i, kSignaled));
  }
  for (std::uint64_t i = 0; i < kCount; ++i) {
    success(pair.a.sends, i);
    CHECK(pair.a.at<std::uint64_t>(8 * i) == 1000 + i);
  }
}
