// SPDX-License-Identifier: MIT
// The remembered regions of the shm device's fast path let nothing through that a look would not.
#include <algorithm>
#include <span>
#include <vector>

#include "shm/queue_pair.hpp"
#include "shm/send_lock.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

LocalBuffer with_key(LocalBuffer buffer, std::uint32_t lkey) {
  buffer.lkey = lkey;
  return buffer;
}

/// An inline write of these elements, as libibverbs has it.
ibv_send_wr inline_write(std::span<ibv_sge> elements, const RemoteMemoryLocator& to,
                         std::uint64_t id) {
  ibv_send_wr request{};
  request.wr_id = id;
  request.sg_list = elements.data();
  request.num_sge = static_cast<int>(elements.size());
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_INLINE;
  request.wr.rdma = {to.address, to.rkey};
  return request;
}

ibv_sge element(const void* at, std::size_t length) {
  return {reinterpret_cast<std::uint64_t>(at), static_cast<std::uint32_t>(length), 0};
}

/// The next small write finds everything remembered.
void open_window(Pair& pair) {
  std::uint64_t zero = 0;
  must(pair.a.qp.post_write({&zero, 8, 0}, pair.b.remote(0, 8), 1, kSignaled | kInlined));
  success(pair.a.sends, 1);
}

}  // namespace

TEST_CASE("shm_small_writes_land_word_for_word_wherever_they_begin_and_however_they_are_cut") {
  Pair pair;
  open_window(pair);
  std::vector<std::byte> source(256);
  fill(source, 3);
  for (std::size_t at = 0; at < 24; at += 4) {
    for (std::size_t length = 0; length <= 64; length += 4) {
      const std::size_t cut = length / 3 & ~std::size_t{3};
      std::ranges::fill(pair.b.bytes().first(128), std::byte(0xee));
      ibv_sge elements[] = {element(source.data() + 1, cut), element(source.data() + 1 + cut, 0),
                            element(source.data() + 1 + cut, length - cut)};
      ibv_send_wr request = inline_write(elements, pair.b.remote(8 + at, length), 2);
      must(pair.a.qp.post(request, nullptr));
      INFO("at " << at << ", length " << length);
      const std::span<std::byte> there = pair.b.bytes().subspan(8 + at, length);
      REQUIRE(std::ranges::equal(there, std::span(source).subspan(1, length)));
      REQUIRE(pair.b.at<std::uint8_t>(7 + at) == 0xee);
      REQUIRE(pair.b.at<std::uint8_t>(8 + at + length) == 0xee);
      // Unsignaled ones give their places back with the next that is signaled.
      must(pair.a.qp.post_write({source.data(), 8, 0}, pair.b.remote(1024, 8), 3,
                                kSignaled | kInlined));
      success(pair.a.sends, 3);
    }
  }
}

TEST_CASE("shm_small_write_outside_its_region_or_with_another_key_fails_as_any_other") {
  Pair pair;
  open_window(pair);
  std::uint64_t value = 7;
  ibv_sge elements[] = {element(&value, 8)};
  RemoteMemoryLocator to = pair.b.remote(0, 8);
  const bool outside = GENERATE(true, false);
  outside ? to.address += pair.b.bytes().size() - 4 : to.rkey += 1;
  ibv_send_wr request = inline_write(elements, to, 2);
  must(pair.a.qp.post(request, nullptr));
  CHECK(failure(pair.a.sends, 2).status == IBV_WC_REM_ACCESS_ERR);
}

TEST_CASE("shm_small_write_that_the_queue_pair_cannot_take_is_refused") {
  Pair pair;
  open_window(pair);
  const std::uint32_t most = pair.a.qp.max_inline();
  std::vector<std::byte> source(most + 8);
  ibv_sge elements[kScatterGather + 1];
  for (ibv_sge& each : elements) each = element(source.data(), 8);
  ibv_send_wr many = inline_write(elements, pair.b.remote(0, 8), 2);
  CHECK(pair.a.qp.post(many, nullptr) == PostResult::kInvalid);
  ibv_sge long_one[] = {element(source.data(), most), element(source.data(), 8)};
  ibv_send_wr large = inline_write(long_one, pair.b.remote(0, most + 8), 2);
  CHECK(pair.a.qp.post(large, nullptr) == PostResult::kInvalid);
  ibv_sge whole[] = {element(source.data(), most)};
  ibv_send_wr fits = inline_write(whole, pair.b.remote(0, most), 3);
  CHECK(pair.a.qp.post(fits, nullptr) == PostResult::kOk);
}

TEST_CASE("shm_small_write_does_not_overtake_a_send_that_waits_for_its_receive") {
  Pair pair;
  open_window(pair);
  std::uint64_t value = 7;
  must(pair.a.qp.post_send({&value, 8, 0}, 2, kSignaled | kInlined));
  ibv_sge elements[] = {element(&value, 8)};
  ibv_send_wr request = inline_write(elements, pair.b.remote(0, 8), 3);
  must(pair.a.qp.post(request, nullptr));
  CHECK(pair.b.at<std::uint64_t>(0) == 0);
  must(pair.b.qp.post_receive(pair.b.local(64, 8), 4));
  success(pair.a.sends, 2);
  CHECK(eventually([&] { return pair.b.at<std::uint64_t>(0) == 7; }));
}

TEST_CASE("shm_small_writes_fill_the_send_queue_and_no_more") {
  Pair pair;
  open_window(pair);
  std::uint64_t value = 7;
  ibv_sge elements[] = {element(&value, 8)};
  ibv_send_wr request = inline_write(elements, pair.b.remote(0, 8), 2);
  std::uint32_t posted = 0;
  while (pair.a.qp.post(request, nullptr) == PostResult::kOk) REQUIRE(++posted <= 1u << 16);
  CHECK(posted == pair.a.qp.send_depth());
  CHECK(pair.a.qp.post(request, nullptr) == PostResult::kFull);
}

TEST_CASE("shm_small_write_after_the_pair_broke_is_flushed") {
  Pair pair;
  open_window(pair);
  pair.a.qp.disconnect();
  std::uint64_t value = 7;
  ibv_sge elements[] = {element(&value, 8)};
  ibv_send_wr request = inline_write(elements, pair.b.remote(0, 8), 2);
  must(pair.a.qp.post(request, nullptr));
  CHECK(failure(pair.a.sends, 2).status == IBV_WC_WR_FLUSH_ERR);
  CHECK(pair.b.at<std::uint64_t>(0) == 0);
}

TEST_CASE("shm_write_without_a_key_fails_after_an_inline_write") {
  Pair pair;
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 1, kSignaled | kInlined));
  success(pair.a.sends, 1);
  must(pair.a.qp.post_write(with_key(pair.a.local(0, 8), 0), pair.b.remote(0, 8), 2, kSignaled));
  CHECK(failure(pair.a.sends, 2).status == IBV_WC_LOC_PROT_ERR);
}

TEST_CASE("shm_write_with_an_rkey_as_lkey_fails_after_one_that_was_in_order") {
  Pair pair;
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 1, kSignaled));
  success(pair.a.sends, 1);
  const LocalBuffer wrong = with_key(pair.a.local(0, 8), pair.a.region.rkey());
  must(pair.a.qp.post_write(wrong, pair.b.remote(0, 8), 2, kSignaled));
  CHECK(failure(pair.a.sends, 2).status == IBV_WC_LOC_PROT_ERR);
}

TEST_CASE("shm_write_from_another_domain_fails_after_an_empty_element_named_it") {
  Pair pair;
  ProtectionDomain other(*pair.device);
  MemoryRegion foreign(other, pair.a.bytes().data(), 4096);

  const LocalBuffer own = pair.a.local(0, 8);
  ibv_sge elements[] = {
      {reinterpret_cast<std::uint64_t>(foreign.data()), 0, foreign.lkey()},
      {reinterpret_cast<std::uint64_t>(own.address), own.length, own.lkey},
  };
  ibv_send_wr request{};
  request.wr_id = 1;
  request.sg_list = elements;
  request.num_sge = 2;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma = {pair.b.remote(0, 8).address, pair.b.remote(0, 8).rkey};
  must(pair.a.qp.post(request, nullptr));
  success(pair.a.sends, 1);

  must(pair.a.qp.post_write(foreign.local(0, 8), pair.b.remote(0, 8), 2, kSignaled));
  CHECK(failure(pair.a.sends, 2).status == IBV_WC_LOC_PROT_ERR);
}

TEST_CASE("shm_write_fails_after_either_region_was_deregistered") {
  const bool gone_is_local = GENERATE(true, false);
  // Several times: the device's own thread may be faster than the second write, and forget the
  // region.
  for (int round = 0; round < 10; ++round) {
    Pair pair;
    auto local = std::make_unique<MemoryRegion>(pair.a.pd, pair.a.bytes().data(), 4096);
    auto remote = std::make_unique<MemoryRegion>(pair.b.pd, pair.b.bytes().data(), 4096);
    const LocalBuffer from = local->local(0, 8);
    const RemoteMemoryLocator to = remote->remote();
    must(pair.a.qp.post_write(from, to, 1, kSignaled));
    success(pair.a.sends, 1);
    (gone_is_local ? local : remote).reset();
    must(pair.a.qp.post_write(from, to, 2, kSignaled));
    REQUIRE(failure(pair.a.sends, 2).status ==
            (gone_is_local ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR));
  }
}

TEST_CASE("shm_queue_pair_does_not_keep_a_region_that_was_deregistered") {
  Pair pair;
  auto remote = std::make_unique<MemoryRegion>(pair.b.pd, pair.b.bytes().data(), 4096);
  must(pair.a.qp.post_write(pair.a.local(0, 8), remote->remote(), 1, kSignaled));
  success(pair.a.sends, 1);
  const shm::QueuePair& qp = shm::from_verbs(pair.a.qp.raw());
  REQUIRE(qp.window.remote != nullptr);
  REQUIRE(qp.region != nullptr);
  remote.reset();
  // Its translation is freed as soon as every queue pair was visited.
  CHECK(eventually([&] {
    const shm::SendLock lock(qp.entry->send_lock);
    return qp.window.remote == nullptr && qp.region == nullptr;
  }));
}
