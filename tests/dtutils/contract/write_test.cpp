// SPDX-License-Identifier: MIT
// RDMA WRITE, with and without immediate data: exact bytes, exact place, and no code at the target.
#include "dtutils/device_memory.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

TEST_CASE("write_changes_exactly_the_target_bytes") {
  SideOptions options;
  options.memory = 256 << 10;
  Pair pair(options);
  std::uint64_t id = 0;
  for (const std::size_t size : {1, 2, 3, 8, 63, 64, 65, 1023, 1024, 1025, 4096, 10000, 131072}) {
    for (const std::size_t offset : {0, 1, 4095}) {
      CAPTURE(size, offset);
      fill(pair.a.bytes().subspan(offset, size), static_cast<std::uint32_t>(size));
      std::memset(pair.b.bytes().data(), 0, pair.b.bytes().size());
      must(pair.a.qp.post_write(pair.a.local(offset, size), pair.b.remote(2 * offset + 5, size),
                                ++id, kSignaled));
      const ibv_wc wrote = success(pair.a.sends, id);
      CHECK(wrote.opcode == IBV_WC_RDMA_WRITE);
      const auto target = pair.b.bytes();
      CHECK(all_bytes(target.first(2 * offset + 5), 0));
      CHECK(holds(target.subspan(2 * offset + 5, size), static_cast<std::uint32_t>(size)));
      CHECK(all_bytes(target.subspan(2 * offset + 5 + size), 0));
    }
  }
}

TEST_CASE("writes_of_an_exclusive_queue_pair_share_nothing_but_the_request") {
  SideOptions options;
  options.queue_pair.exclusive = true;
  options.queue_pair.send_depth = 16;
  Pair pair(options);
  fill(pair.a.bytes(), 3);
  std::uint64_t id = 0;
  for (const std::size_t size : {8, 0, 1, 64, 0, 4096, 7, 20000}) {
    CAPTURE(size);
    for (const bool between : {false, true}) {
      std::memset(pair.b.bytes().data(), 0, pair.b.bytes().size());
      must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(64, 8), 1000, kUnsignaled));
      if (between) {
        must(pair.a.qp.post_read(pair.a.local(60000, 8), pair.b.remote(64, 8), 1001, kUnsignaled));
      }
      must(pair.a.qp.post_write(pair.a.local(0, size), pair.b.remote(128, size), ++id, kSignaled));
      CHECK(success(pair.a.sends, id).opcode == IBV_WC_RDMA_WRITE);
      const auto target = pair.b.bytes();
      CHECK(all_bytes(target.first(64), 0));
      CHECK(std::memcmp(&target[64], pair.a.bytes().data(), 8) == 0);
      CHECK(std::memcmp(&target[128], pair.a.bytes().data(), size) == 0);
      CHECK(all_bytes(target.subspan(128 + size), 0));
    }
  }
}

TEST_CASE("refused_writes_of_an_exclusive_queue_pair_are_not_waited_for") {
  SideOptions options;
  options.queue_pair.exclusive = true;
  Pair pair(options);
  const auto device = open_device_under_test();
  Side loose(*device, options);
  CHECK(loose.qp.post_write(loose.local(0, 8), pair.b.remote(0, 8), 1, kSignaled) !=
        PostResult::kOk);
  ibv_wc completion;
  CHECK(loose.qp.wait(completion, std::chrono::milliseconds(100)) ==
        QueuePair::Wait::kNothingSignaled);
}

TEST_CASE("write_gives_the_target_no_completion_and_takes_no_receive") {
  Pair pair;
  must(pair.b.qp.post_receive(pair.b.local(0, 64), 1));
  pair.a.at<std::uint64_t>(0) = 5;
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(128, 8), 2, kSignaled));
  success(pair.a.sends, 2);
  CHECK(stays_empty(pair.b.receives));
  CHECK(stays_empty(pair.b.sends));
  must(pair.a.qp.post_send(pair.a.local(0, 8), 3, kSignaled));
  success(pair.b.receives, 1);
}

TEST_CASE("write_of_no_bytes_completes") {
  Pair pair;
  must(pair.a.qp.post_write(LocalBuffer{}, pair.b.remote(0, 0), 1, kSignaled));
  success(pair.a.sends, 1);
  CHECK(all_bytes(pair.b.bytes(), 0));
}

TEST_CASE("write_reaches_the_last_byte_of_a_region") {
  Pair pair;
  const std::size_t size = pair.b.bytes().size();
  fill(pair.a.bytes(), 9);
  must(pair.a.qp.post_write(pair.a.local(0, size), pair.b.remote(0, size), 1, kSignaled));
  success(pair.a.sends, 1);
  CHECK(holds(pair.b.bytes(), 9));
}

TEST_CASE("write_with_immediate_takes_a_receive_but_not_its_buffer") {
  Pair pair;
  fill(pair.a.bytes().first(3000), 4);
  must(pair.b.qp.post_receive(pair.b.local(0, 64), 1));
  must(pair.b.qp.post_receive(LocalBuffer{}, 2));
  must(pair.a.qp.post_write_with_immediate(pair.a.local(0, 3000), pair.b.remote(4096, 3000),
                                           0x01020304, 10, kSignaled));
  must(pair.a.qp.post_write_with_immediate(LocalBuffer{}, pair.b.remote(0, 0), 7, 11, kSignaled));
  success(pair.a.sends, 10);
  success(pair.a.sends, 11);

  const ibv_wc first = success(pair.b.receives, 1);
  CHECK(first.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
  CHECK((first.wc_flags & IBV_WC_WITH_IMM) != 0);
  CHECK(immediate_of(first) == 0x01020304);
  CHECK(first.byte_len == 3000);
  const ibv_wc second = success(pair.b.receives, 2);
  CHECK(immediate_of(second) == 7);
  CHECK(second.byte_len == 0);
  CHECK(all_bytes(pair.b.bytes().first(64), 0));
  CHECK(holds(pair.b.bytes().subspan(4096, 3000), 4));
}

TEST_CASE("write_with_immediate_waits_for_a_receive") {
  Pair pair;
  must(pair.a.qp.post_write_with_immediate(pair.a.local(0, 8), pair.b.remote(0, 8), 1, 1,
                                           kSignaled));
  CHECK(stays_empty(pair.a.sends));
  must(pair.b.qp.post_receive(LocalBuffer{}, 2));
  success(pair.b.receives, 2);
  success(pair.a.sends, 1);
}

TEST_CASE("aligned_words_are_written_whole") {
  // The target polls a word that a peer overwrites; it may see any old value, never half of two.
  Pair pair;
  constexpr int kRounds = 300;
  for (int i = 1; i <= kRounds; ++i) {
    pair.a.at<std::uint64_t>(8 * (i % 64)) = 0x0101010101010101u * (i % 256);
    must(pair.a.qp.post_write(pair.a.local(8 * (i % 64), 8), pair.b.remote(512, 8), i, kSignaled));
    const bool whole = eventually([&] {
      const std::uint64_t word = load_device_word(&pair.b.at<std::uint64_t>(512));
      require_equal(word, 0x0101010101010101u * (word & 0xff), "a word while it is written");
      return word == 0x0101010101010101u * (i % 256);
    });
    REQUIRE(whole);
    success(pair.a.sends, i);
  }
}
