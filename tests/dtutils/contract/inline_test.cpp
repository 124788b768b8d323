// SPDX-License-Identifier: MIT
// Inline data: the post copies the bytes, so the buffer is free at once and needs no key.
#include <algorithm>
#include <vector>

#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

/// True, with a visible skip, when the device grants fewer than `needed` inline bytes.
bool skipped_without_inline(const Pair& pair, std::uint32_t needed = 1) {
  if (pair.a.qp.max_inline() >= needed) return false;
  WARN("SKIPPED: this device grants only " << pair.a.qp.max_inline() << " inline bytes");
  return true;
}

}  // namespace

TEST_CASE("inline_write_takes_its_bytes_during_the_post") {
  SideOptions options;
  options.memory = 256 << 10;
  options.queue_pair.max_inline = GENERATE(kInline, 100'000u);
  Pair pair(options);
  if (skipped_without_inline(pair)) return;
  const std::uint32_t size = pair.a.qp.max_inline();
  std::vector<std::byte> unregistered(size);
  for (std::uint32_t i = 0; i < 50; ++i) {
    fill(unregistered, i);
    must(pair.a.qp.post_write({unregistered.data(), size, 0}, pair.b.remote(i * size, size), i,
                              kSignaled | kInlined));
    std::ranges::fill(unregistered, std::byte(0));
  }
  for (std::uint32_t i = 0; i < 50; ++i) {
    success(pair.a.sends, i);
    CHECK(holds(pair.b.bytes().subspan(i * size, size), i));
  }
}

TEST_CASE("inline_send_takes_its_bytes_during_the_post") {
  Pair pair;
  if (skipped_without_inline(pair)) return;
  std::uint8_t value = 17;
  must(pair.b.qp.post_receive(pair.b.local(0, 64), 1));
  must(pair.a.qp.post_send({&value, 1, 0}, 2, kSignaled | kInlined));
  value = 0;
  success(pair.a.sends, 2);
  CHECK(success(pair.b.receives, 1).byte_len == 1);
  CHECK(pair.b.at<std::uint8_t>(0) == 17);
}

TEST_CASE("inline_data_is_gathered_from_several_places") {
  Pair pair;
  if (skipped_without_inline(pair, 12)) return;
  std::uint64_t first = 0x1111111111111111;
  std::uint32_t second = 0x22222222;
  ibv_sge elements[2] = {{reinterpret_cast<std::uint64_t>(&first), 8, 0},
                         {reinterpret_cast<std::uint64_t>(&second), 4, 0}};
  ibv_send_wr request{};
  request.wr_id = 9;
  request.sg_list = elements;
  request.num_sge = 2;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = kSignaled | kInlined;
  request.wr.rdma.remote_addr = pair.b.remote(64, 12).address;
  request.wr.rdma.rkey = pair.b.region.rkey();
  must(pair.a.qp.post(request, nullptr));
  first = second = 0;
  success(pair.a.sends, 9);
  CHECK(pair.b.at<std::uint64_t>(64) == 0x1111111111111111);
  CHECK(pair.b.at<std::uint32_t>(72) == 0x22222222);
}

TEST_CASE("more_inline_bytes_than_granted_are_refused") {
  Pair pair;
  const std::uint32_t size = pair.a.qp.max_inline() + 1;
  const PostResult answer =
      pair.a.qp.post_write(pair.a.local(0, size), pair.b.remote(0, size), 1, kSignaled | kInlined);
  CHECK(answer == PostResult::kInvalid);
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 2, kSignaled));
  success(pair.a.sends, 2);
}

TEST_CASE("reads_and_atomics_are_never_inline") {
  Pair pair;
  if (!checks_requests(*pair.device)) {
    WARN("SKIPPED: this device leaves it to the program not to ask for an inline read");
    return;
  }
  pair.b.at<std::uint64_t>(0) = 5;
  std::uint64_t unregistered = 3;
  const LocalBuffer into{&unregistered, 8, 0};
  const unsigned flags = kSignaled | kInlined;
  CHECK(pair.a.qp.post_read(into, pair.b.remote(0, 8), 1, flags) == PostResult::kInvalid);
  CHECK(pair.a.qp.post_fetch_and_add(into, pair.b.remote(0, 8), 1, 2, flags) ==
        PostResult::kInvalid);
  CHECK(pair.a.qp.post_compare_and_swap(into, pair.b.remote(0, 8), 5, 6, 3, flags) ==
        PostResult::kInvalid);
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(64, 8), 4, kSignaled));
  success(pair.a.sends, 4);
  CHECK(unregistered == 3);
  CHECK(pair.b.at<std::uint64_t>(0) == 5);
}

TEST_CASE("granted_inline_bytes_are_those_that_the_device_states") {
  SideOptions options;
  options.queue_pair.max_inline = 100'000;
  Pair pair(options);
  CHECK(pair.a.qp.max_inline() >= pair.device->info().max_inline);
}
