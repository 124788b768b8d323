// SPDX-License-Identifier: MIT
// The remembered regions of the shm device's fast path let nothing through that a look would not.
#include "support/catch.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

LocalBuffer with_key(LocalBuffer buffer, std::uint32_t lkey) {
  buffer.lkey = lkey;
  return buffer;
}

}  // namespace

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
  Pair pair;
  auto local = std::make_unique<MemoryRegion>(pair.a.pd, pair.a.bytes().data(), 4096);
  auto remote = std::make_unique<MemoryRegion>(pair.b.pd, pair.b.bytes().data(), 4096);
  const LocalBuffer from = local->local(0, 8);
  const RemoteMemoryLocator to = remote->remote();
  must(pair.a.qp.post_write(from, to, 1, kSignaled));
  success(pair.a.sends, 1);
  const bool gone_is_local = GENERATE(true, false);
  (gone_is_local ? local : remote).reset();
  must(pair.a.qp.post_write(from, to, 2, kSignaled));
  CHECK(failure(pair.a.sends, 2).status ==
        (gone_is_local ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR));
}
