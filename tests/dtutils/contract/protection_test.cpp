// SPDX-License-Identifier: MIT
// Protection: a remote access outside what was granted fails, changes nothing and harms nobody
// else.
#include <functional>
#include <initializer_list>

#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

enum class Operation { kWrite, kWriteWithImmediate, kRead, kCompareAndSwap, kFetchAndAdd };

constexpr std::initializer_list<Operation> kAll{Operation::kWrite, Operation::kWriteWithImmediate,
                                                Operation::kRead, Operation::kCompareAndSwap,
                                                Operation::kFetchAndAdd};
constexpr std::initializer_list<Operation> kWriting{Operation::kWrite,
                                                    Operation::kWriteWithImmediate};
constexpr std::initializer_list<Operation> kAtomics{Operation::kCompareAndSwap,
                                                    Operation::kFetchAndAdd};

/// An 8-byte operation of `side` on the start of `target`.
PostResult attempt(Side& side, Operation operation, const RemoteMemoryLocator& target,
                   std::uint64_t id) {
  const LocalBuffer local = side.local(0, 8);
  switch (operation) {
    case Operation::kWrite:
      return side.qp.post_write(local, target, id, kSignaled);
    case Operation::kWriteWithImmediate:
      return side.qp.post_write_with_immediate(local, target, 1, id, kSignaled);
    case Operation::kRead:
      return side.qp.post_read(local, target, id, kSignaled);
    case Operation::kCompareAndSwap:
      return side.qp.post_compare_and_swap(local, target, 0x0101010101010101, 5, id, kSignaled);
    case Operation::kFetchAndAdd:
      return side.qp.post_fetch_and_add(local, target, 5, id, kSignaled);
  }
  return PostResult::kInvalid;
}

/// Names the target of an attempt; may register things at the target's side first.
using Target = std::function<RemoteMemoryLocator(Side&)>;

/// Each operation, on a connection of its own, must fail with REM_ACCESS_ERR (or `also`), leave the
/// target's and the initiator's memory as it is, break the queue pairs of both, and leave another
/// queue pair between the same sides at work.
void expect_refused(std::initializer_list<Operation> operations, const Target& target,
                    const SideOptions& options_b = {}, ibv_wc_status also = IBV_WC_REM_ACCESS_ERR) {
  for (const Operation operation : operations) {
    CAPTURE(static_cast<int>(operation));
    Pair pair(SideOptions{}, options_b);
    Side bystander(*pair.device);
    QueuePair its_peer(pair.b.pd, pair.b.sends, pair.b.receives);
    connect(bystander.qp, its_peer);
    std::memset(pair.b.bytes().data(), 1, pair.b.bytes().size());
    must(pair.b.qp.post_receive(pair.b.local(0, 8), 900));

    must(attempt(pair.a, operation, target(pair.b), 1));
    const ibv_wc refused = failure(pair.a.sends, 1);
    INFO(describe(refused));
    CHECK((refused.status == IBV_WC_REM_ACCESS_ERR || refused.status == also));
    CHECK(all_bytes(pair.b.bytes(), 1));
    CHECK(all_bytes(pair.a.bytes().subspan(8), 0));
    CHECK(pair.a.at<std::uint64_t>(0) == 0);
    CHECK(eventually([&] { return pair.a.qp.state() == IBV_QPS_ERR; }));
    REQUIRE(eventually([&] { return pair.b.qp.state() == IBV_QPS_ERR; }));

    must(its_peer.post_receive(LocalBuffer{}, 901));
    must(bystander.qp.post_send(LocalBuffer{}, 2, kSignaled));
    success(bystander.sends, 2);
  }
}

}  // namespace

TEST_CASE("wrong_rkey_is_refused") {
  expect_refused(kAll, [](Side& b) {
    RemoteMemoryLocator wrong = b.remote(512, 8);
    wrong.rkey ^= 0x00010000;
    return wrong;
  });
}

TEST_CASE("rkey_zero_is_refused") {
  expect_refused(kAll, [](Side& b) {
    RemoteMemoryLocator wrong = b.remote(512, 8);
    wrong.rkey = 0;
    return wrong;
  });
}

TEST_CASE("access_past_the_end_of_a_region_is_refused") {
  expect_refused(kWriting, [](Side& b) { return b.remote(b.bytes().size() - 4, 8); });
  expect_refused(kAll, [](Side& b) { return b.remote(b.bytes().size(), 8); });
}

TEST_CASE("access_before_the_start_of_a_region_is_refused") {
  expect_refused(kAll, [](Side& b) {
    RemoteMemoryLocator before = b.remote(0, 8);
    before.address -= 8;
    return before;
  });
}

TEST_CASE("access_that_wraps_round_the_address_space_is_refused") {
  expect_refused(kAll, [](Side& b) {
    RemoteMemoryLocator end = b.remote(0, 8);
    end.address = ~std::uint64_t{0} - 7;
    return end;
  });
}

TEST_CASE("access_to_mapped_memory_outside_the_region_is_refused") {
  const auto device = open_device_under_test();
  Side a(*device);
  Side b(*device);
  connect(a.qp, b.qp);
  // Half of the segment only; the other half is mapped, but was not granted.
  MemoryRegion half(b.pd, b.segment.data(), b.segment.size() / 2);
  RemoteMemoryLocator target = half.remote();
  target.address += half.size();
  must(attempt(a, Operation::kWrite, target, 1));
  CHECK(failure(a.sends, 1).status == IBV_WC_REM_ACCESS_ERR);
  CHECK(all_bytes(b.bytes(), 0));
}

TEST_CASE("long_access_that_begins_inside_a_region_is_refused_as_a_whole_or_ends_at_its_border") {
  SideOptions options;
  options.memory = 128 << 10;
  Pair pair(options);
  MemoryRegion half(pair.b.pd, pair.b.segment.data(), 64 << 10);
  fill(pair.a.bytes(), 3);
  RemoteMemoryLocator target = half.remote();
  must(pair.a.qp.post_write(pair.a.local(0, 128 << 10), target, 1, kSignaled));
  CHECK(failure(pair.a.sends, 1).status == IBV_WC_REM_ACCESS_ERR);
  CHECK(all_bytes(pair.b.bytes().subspan(64 << 10), 0));
}

TEST_CASE("write_and_atomics_to_a_region_without_these_rights_are_refused") {
  SideOptions options;
  options.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
  const Target target = [](Side& b) { return b.remote(512, 8); };
  expect_refused(kWriting, target, options);
  expect_refused(kAtomics, target, options);
}

TEST_CASE("read_and_atomics_to_a_region_with_write_only_are_refused") {
  SideOptions options;
  options.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  const Target target = [](Side& b) { return b.remote(512, 8); };
  expect_refused({Operation::kRead}, target, options);
  expect_refused(kAtomics, target, options);
}

TEST_CASE("any_remote_access_to_a_local_region_is_refused") {
  SideOptions options;
  options.access = IBV_ACCESS_LOCAL_WRITE;
  expect_refused(
      kAll, [](Side& b) { return b.remote(512, 8); }, options);
}

TEST_CASE("access_that_the_queue_pair_does_not_allow_is_refused") {
  SideOptions options;
  options.queue_pair.access = IBV_ACCESS_LOCAL_WRITE;
  expect_refused(
      kAll, [](Side& b) { return b.remote(512, 8); }, options, IBV_WC_REM_INV_REQ_ERR);
}

TEST_CASE("write_is_refused_once_the_queue_pair_does_not_allow_it_any_more") {
  for (const unsigned flags : {0u | kInlined, 0u | kUnsignaled, kInlined | kSignaled}) {
    CAPTURE(flags);
    Pair pair;
    // Twice: a device may remember what it has found in order.
    for (std::uint64_t id = 1; id <= 2; ++id) {
      must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), id, flags | kSignaled));
      success(pair.a.sends, id);
    }
    ibv_qp_attr attributes{};
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ;
    pair.device->modify_qp(pair.b.qp.raw(), attributes, IBV_QP_ACCESS_FLAGS);
    pair.a.at<std::uint64_t>(0) = 5;
    must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 3, flags));
    const ibv_wc refused = failure(pair.a.sends, 3);
    INFO(describe(refused));
    CHECK((refused.status == IBV_WC_REM_ACCESS_ERR || refused.status == IBV_WC_REM_INV_REQ_ERR));
    CHECK(all_bytes(pair.b.bytes(), 0));
  }
}

TEST_CASE("region_of_another_protection_domain_is_refused") {
  for (const Operation operation : kAll) {
    CAPTURE(static_cast<int>(operation));
    Pair pair;
    ProtectionDomain other(*pair.device);
    MemoryRegion region(other, pair.b.segment.data(), pair.b.segment.size());
    must(pair.b.qp.post_receive(LocalBuffer{}, 900));
    must(attempt(pair.a, operation, region.remote(), 1));
    CHECK(failure(pair.a.sends, 1).status == IBV_WC_REM_ACCESS_ERR);
    CHECK(all_bytes(pair.b.bytes(), 0));
  }
}

TEST_CASE("deregistered_region_is_refused_even_when_its_memory_is_registered_again") {
  Pair pair;
  auto region = std::make_unique<MemoryRegion>(pair.b.pd, pair.b.segment.data(), 4096);
  const RemoteMemoryLocator old = region->remote();
  pair.a.at<std::uint64_t>(0) = 3;
  must(attempt(pair.a, Operation::kWrite, old, 1));
  success(pair.a.sends, 1);
  CHECK(pair.b.at<std::uint64_t>(0) == 3);

  region.reset();
  region = std::make_unique<MemoryRegion>(pair.b.pd, pair.b.segment.data(), 4096);
  CHECK(region->rkey() != old.rkey);
  pair.a.at<std::uint64_t>(0) = 4;
  must(attempt(pair.a, Operation::kWrite, old, 2));
  CHECK(failure(pair.a.sends, 2).status == IBV_WC_REM_ACCESS_ERR);
  CHECK(pair.b.at<std::uint64_t>(0) == 3);
}

TEST_CASE("memory_may_be_registered_twice_with_different_rights") {
  Pair pair;
  MemoryRegion readable(pair.b.pd, pair.b.segment.data(), 4096, IBV_ACCESS_REMOTE_READ);
  pair.b.at<std::uint64_t>(0) = 6;
  must(attempt(pair.a, Operation::kRead, readable.remote(), 1));
  success(pair.a.sends, 1);
  CHECK(pair.a.at<std::uint64_t>(0) == 6);
  must(attempt(pair.a, Operation::kWrite, pair.b.remote(0, 8), 2));
  success(pair.a.sends, 2);
  must(attempt(pair.a, Operation::kWrite, readable.remote(), 3));
  CHECK(failure(pair.a.sends, 3).status == IBV_WC_REM_ACCESS_ERR);
}
