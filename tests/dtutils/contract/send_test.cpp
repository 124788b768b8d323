// SPDX-License-Identifier: MIT
// SEND and RECV: bytes arrive in the posted buffer, and nowhere else.
#include "support/catch.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

constexpr std::size_t kTarget = 65536;
constexpr std::size_t kRoom = 65536;

SideOptions with_memory(std::size_t memory) {
  SideOptions options;
  options.memory = memory;
  return options;
}

}  // namespace

TEST_CASE("send_arrives_in_the_posted_receive") {
  Pair pair(with_memory(kTarget + kRoom));
  std::uint64_t id = 100;
  for (const std::size_t size : {1, 7, 8, 64, 255, 256, 1023, 1024, 1025, 4096, 5000, 65536}) {
    CAPTURE(size);
    ++id;
    fill(pair.a.bytes().first(size), static_cast<std::uint32_t>(size));
    fill(pair.b.bytes(), 99);
    std::memset(pair.b.bytes().data() + kTarget, 0, kRoom);

    must(pair.b.qp.post_receive(pair.b.local(kTarget, kRoom), id));
    must(pair.a.qp.post_send(pair.a.local(0, size), id + 1000, kSignaled));
    const ibv_wc sent = success(pair.a.sends, id + 1000);
    CHECK(sent.opcode == IBV_WC_SEND);
    CHECK(sent.qp_num == pair.a.qp.raw()->qp_num);
    const ibv_wc received = success(pair.b.receives, id);
    CHECK(received.opcode == IBV_WC_RECV);
    CHECK(received.byte_len == size);
    CHECK(received.qp_num == pair.b.qp.raw()->qp_num);
    CHECK((received.wc_flags & IBV_WC_WITH_IMM) == 0);

    CHECK(holds(pair.b.bytes().subspan(kTarget, size), static_cast<std::uint32_t>(size)));
    CHECK(all_bytes(pair.b.bytes().subspan(kTarget + size, kRoom - size), 0));
  }
}

TEST_CASE("send_with_immediate_carries_32_bits_beside_the_bytes") {
  Pair pair;
  fill(pair.a.bytes().first(100), 3);
  must(pair.b.qp.post_receive(pair.b.local(0, 4096), 1));
  must(pair.a.qp.post_send_with_immediate(pair.a.local(0, 100), 0xdeadbeef, 2, kSignaled));
  success(pair.a.sends, 2);
  const ibv_wc received = success(pair.b.receives, 1);
  CHECK(received.opcode == IBV_WC_RECV);
  CHECK((received.wc_flags & IBV_WC_WITH_IMM) != 0);
  CHECK(immediate_of(received) == 0xdeadbeef);
  CHECK(received.byte_len == 100);
  CHECK(holds(pair.b.bytes().first(100), 3));
}

TEST_CASE("send_of_no_bytes_still_takes_a_receive") {
  Pair pair;
  must(pair.b.qp.post_receive(pair.b.local(0, 16), 1));
  must(pair.b.qp.post_receive(LocalBuffer{}, 2));
  must(pair.a.qp.post_send(LocalBuffer{}, 3, kSignaled));
  must(pair.a.qp.post_send_with_immediate(LocalBuffer{}, 42, 4, kSignaled));
  success(pair.a.sends, 3);
  success(pair.a.sends, 4);
  CHECK(success(pair.b.receives, 1).byte_len == 0);
  const ibv_wc second = success(pair.b.receives, 2);
  CHECK(second.byte_len == 0);
  CHECK(immediate_of(second) == 42);
  CHECK(all_bytes(pair.b.bytes().first(16), 0));
}

TEST_CASE("sends_take_receives_in_the_order_of_their_posts") {
  Pair pair;
  constexpr std::uint64_t kCount = 100;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    must(pair.b.qp.post_receive(pair.b.local(8 * i, 8), i));
  }
  for (std::uint64_t i = 0; i < kCount; ++i) {
    pair.a.at<std::uint64_t>(8 * i) = i * 3;
    must(pair.a.qp.post_send(pair.a.local(8 * i, 8), i, kSignaled));
  }
  for (std::uint64_t i = 0; i < kCount; ++i) {
    success(pair.a.sends, i);
    success(pair.b.receives, i);
    CHECK(pair.b.at<std::uint64_t>(8 * i) == i * 3);
  }
}

TEST_CASE("sends_go_both_ways_at_once") {
  Pair pair;
  constexpr std::uint64_t kCount = 50;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    for (Side* side : {&pair.a, &pair.b}) {
      side->at<std::uint64_t>(8 * i) = i + (side == &pair.a ? 1000 : 2000);
      must(side->qp.post_receive(side->local(4096 + 8 * i, 8), i));
    }
  }
  for (std::uint64_t i = 0; i < kCount; ++i) {
    for (Side* side : {&pair.a, &pair.b}) {
      must(side->qp.post_send(side->local(8 * i, 8), i, kSignaled));
    }
  }
  for (std::uint64_t i = 0; i < kCount; ++i) {
    for (Side* side : {&pair.a, &pair.b}) {
      success(side->sends, i);
      success(side->receives, i);
      CHECK(side->at<std::uint64_t>(4096 + 8 * i) == i + (side == &pair.a ? 2000 : 1000));
    }
  }
}
