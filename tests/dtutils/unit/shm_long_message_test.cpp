// SPDX-License-Identifier: MIT
// No request of the shm device has more than 2^31 bytes, whatever its elements add up to.
#include <array>

#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

TEST_CASE("shm_message_of_more_than_two_gigabytes_is_refused") {
  SideOptions options;
  options.memory = 256 << 20;
  options.queue_pair.scatter_gather = 16;
  const auto device = open_shm_device({});
  Side a(*device, options);
  Side b(*device);
  connect(a.qp, b.qp);
  must(b.qp.post_receive(b.local(0, 64), 1));
  std::array<ibv_sge, 16> elements;
  elements.fill({a.remote(0, 8).address, 256 << 20, a.region.lkey()});
  ibv_send_wr request{};
  request.sg_list = elements.data();
  request.opcode = GENERATE(IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ);
  request.send_flags = IBV_SEND_SIGNALED;
  // 2^31 and some, and 2^32, which is no bytes in 32 bits.
  for (const int count : {9, 16}) {
    request.num_sge = count;
    CHECK(a.qp.post(request, nullptr) == PostResult::kInvalid);
  }
  CHECK(stays_empty(b.receives));
  must(a.qp.post_write(a.local(0, 8), b.remote(0, 8), 2, kSignaled));
  success(a.sends, 2);
}
