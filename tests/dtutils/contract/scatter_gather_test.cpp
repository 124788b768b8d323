// SPDX-License-Identifier: MIT
// Scatter/gather: one request moves bytes between one place there and several places here.
#include <algorithm>
#include <array>
#include <vector>

#include "support/catch.hpp"
#include "support/queue_pair_states.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

/// Pieces of uneven length and place, 3000 bytes in all.
constexpr std::array<std::size_t, 4> kOffsets{100, 8192, 4096, 20001};
constexpr std::array<std::size_t, 4> kLengths{1, 1999, 700, 300};
constexpr std::size_t kTotal = 3000;

std::array<ibv_sge, 4> elements_of(const Side& side) {
  std::array<ibv_sge, 4> elements{};
  for (std::size_t i = 0; i < 4; ++i) {
    const LocalBuffer piece = side.local(kOffsets[i], kLengths[i]);
    elements[i] = {reinterpret_cast<std::uint64_t>(piece.address), piece.length, piece.lkey};
  }
  return elements;
}

std::vector<std::byte> joined(const Side& side) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto piece = side.bytes().subspan(kOffsets[i], kLengths[i]);
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  return bytes;
}

ibv_send_wr request_of(std::array<ibv_sge, 4>& elements, ibv_wr_opcode opcode, const Side& target) {
  ibv_send_wr request{};
  request.wr_id = 1;
  request.sg_list = elements.data();
  request.num_sge = 4;
  request.opcode = opcode;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = target.remote(0, kTotal).address;
  request.wr.rdma.rkey = target.region.rkey();
  return request;
}

}  // namespace

TEST_CASE("write_gathers_from_several_places") {
  Pair pair;
  fill(pair.a.bytes(), 5);
  auto elements = elements_of(pair.a);
  ibv_send_wr request = request_of(elements, IBV_WR_RDMA_WRITE, pair.b);
  must(pair.a.qp.post(request, nullptr));
  success(pair.a.sends, 1);
  const auto expected = joined(pair.a);
  CHECK(std::ranges::equal(pair.b.bytes().first(kTotal), expected));
  CHECK(all_bytes(pair.b.bytes().subspan(kTotal), 0));
}

TEST_CASE("send_gathers_from_several_places") {
  Pair pair;
  fill(pair.a.bytes(), 6);
  must(pair.b.qp.post_receive(pair.b.local(0, 8192), 2));
  auto elements = elements_of(pair.a);
  ibv_send_wr request = request_of(elements, IBV_WR_SEND, pair.b);
  must(pair.a.qp.post(request, nullptr));
  success(pair.a.sends, 1);
  CHECK(success(pair.b.receives, 2).byte_len == kTotal);
  CHECK(std::ranges::equal(pair.b.bytes().first(kTotal), joined(pair.a)));
}

TEST_CASE("read_scatters_to_several_places") {
  Pair pair;
  fill(pair.b.bytes().first(kTotal), 7);
  auto elements = elements_of(pair.a);
  ibv_send_wr request = request_of(elements, IBV_WR_RDMA_READ, pair.b);
  must(pair.a.qp.post(request, nullptr));
  success(pair.a.sends, 1);
  CHECK(holds(joined(pair.a), 7));
  CHECK(pair.a.at<std::uint8_t>(kOffsets[0] - 1) == 0);
  CHECK(pair.a.at<std::uint8_t>(kOffsets[0] + kLengths[0]) == 0);
}

TEST_CASE("receive_scatters_to_several_places") {
  const auto device = open_device_under_test();
  Side a(*device);
  Side b(*device);
  ibv_qp_init_attr wanted{};
  wanted.send_cq = b.sends.raw();
  wanted.recv_cq = b.receives.raw();
  wanted.cap = {8, 8, 1, 4, 0};
  ibv_qp* qp = make_connected(*device, b, a, wanted);
  REQUIRE(wanted.cap.max_recv_sge >= 4);

  auto elements = elements_of(b);
  ibv_recv_wr receive{5, nullptr, elements.data(), 4};
  ibv_recv_wr* bad = nullptr;
  REQUIRE(ibv_post_recv(qp, &receive, &bad) == 0);
  fill(a.bytes().first(kTotal), 8);
  must(a.qp.post_send(a.local(0, kTotal), 1, kSignaled));
  success(a.sends, 1);
  CHECK(success(b.receives, 5).byte_len == kTotal);
  CHECK(holds(joined(b), 8));
  device->destroy_qp(qp);
}

TEST_CASE("more_elements_than_granted_are_refused") {
  Pair pair;
  std::vector<ibv_sge> elements(pair.device->info().max_scatter_gather + 1);
  for (ibv_sge& element : elements) element = {pair.a.remote(0, 1).address, 1, 0};
  for (ibv_sge& element : elements) element.lkey = pair.a.region.lkey();
  ibv_send_wr request{};
  request.sg_list = elements.data();
  request.num_sge = static_cast<int>(elements.size());
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = pair.b.remote(0, elements.size()).address;
  request.wr.rdma.rkey = pair.b.region.rkey();
  ibv_send_wr* bad = nullptr;
  CHECK(pair.a.qp.post(request, &bad) == PostResult::kInvalid);
  CHECK(bad == &request);
  CHECK(all_bytes(pair.b.bytes(), 0));
  ibv_recv_wr receive{};
  receive.sg_list = elements.data();
  receive.num_sge = request.num_sge;
  ibv_recv_wr* bad_receive = nullptr;
  CHECK(ibv_post_recv(pair.a.qp.raw(), &receive, &bad_receive) != 0);
  CHECK(bad_receive == &receive);
}

TEST_CASE("chain_of_requests_is_posted_by_one_call") {
  Pair pair;
  std::array<ibv_sge, 5> elements{};
  std::array<ibv_send_wr, 5> requests{};
  for (std::size_t i = 0; i < 5; ++i) {
    pair.a.at<std::uint64_t>(8 * i) = i + 1;
    elements[i] = {pair.a.remote(8 * i, 8).address, 8, pair.a.region.lkey()};
    requests[i].wr_id = i;
    requests[i].next = i < 4 ? &requests[i + 1] : nullptr;
    requests[i].sg_list = &elements[i];
    requests[i].num_sge = 1;
    requests[i].opcode = IBV_WR_RDMA_WRITE;
    requests[i].send_flags = IBV_SEND_SIGNALED;
    requests[i].wr.rdma.remote_addr = pair.b.remote(8 * i, 8).address;
    requests[i].wr.rdma.rkey = pair.b.region.rkey();
  }
  must(pair.a.qp.post(requests[0], nullptr));
  for (std::size_t i = 0; i < 5; ++i) {
    success(pair.a.sends, i);
    CHECK(pair.b.at<std::uint64_t>(8 * i) == i + 1);
  }
}

TEST_CASE("chain_is_executed_up_to_the_first_refused_request_which_is_named") {
  Pair pair;
  constexpr std::size_t kTooMany = 256;
  std::vector<ibv_sge> elements(kTooMany, {pair.a.remote(0, 8).address, 8, pair.a.region.lkey()});
  std::array<ibv_send_wr, 3> requests{};
  for (std::size_t i = 0; i < 3; ++i) {
    requests[i].wr_id = i;
    requests[i].next = i < 2 ? &requests[i + 1] : nullptr;
    requests[i].sg_list = elements.data();
    requests[i].num_sge = i == 1 ? kTooMany : 1;
    requests[i].opcode = IBV_WR_RDMA_WRITE;
    requests[i].send_flags = IBV_SEND_SIGNALED;
    requests[i].wr.rdma.remote_addr = pair.b.remote(64 * i, 8).address;
    requests[i].wr.rdma.rkey = pair.b.region.rkey();
  }
  pair.a.at<std::uint64_t>(0) = 77;
  ibv_send_wr* bad = nullptr;
  CHECK(pair.a.qp.post(requests[0], &bad) == PostResult::kInvalid);
  CHECK(bad == &requests[1]);
  success(pair.a.sends, 0);
  CHECK(stays_empty(pair.a.sends));
  CHECK(pair.b.at<std::uint64_t>(0) == 77);
  CHECK(pair.b.at<std::uint64_t>(128) == 0);
}

TEST_CASE("keys_and_addresses_of_elements_without_bytes_do_not_count") {
  Pair pair;
  std::array<ibv_sge, 2> elements{
      {{0x10, 0, 0xbad}, {pair.a.remote(0, 8).address, 8, pair.a.region.lkey()}}};
  ibv_send_wr request{};
  request.sg_list = elements.data();
  request.num_sge = 2;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = pair.b.remote(0, 8).address;
  request.wr.rdma.rkey = pair.b.region.rkey();
  pair.a.at<std::uint64_t>(0) = 6;
  must(pair.a.qp.post(request, nullptr));
  success(pair.a.sends, 0);
  CHECK(pair.b.at<std::uint64_t>(0) == 6);
}

TEST_CASE("operations_that_the_device_does_not_offer_are_refused") {
  Pair pair;
  if (!checks_requests(*pair.device)) {
    WARN("SKIPPED: this device leaves it to the program what it asks for");
    return;
  }
  ibv_send_wr request{};
  request.opcode = IBV_WR_LOCAL_INV;
  ibv_send_wr* bad = nullptr;
  CHECK(pair.a.qp.post(request, &bad) == PostResult::kInvalid);
  CHECK(bad == &request);
}
