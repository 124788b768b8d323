// SPDX-License-Identifier: MIT
// Local buffers are checked, too: key, bounds, domain, and the right to be written.
#include <functional>

#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

/// Makes the local buffer of a request; may register things at the initiator's side first.
using Local = std::function<LocalBuffer(Side&)>;

/// Soft-RoCE reports a key that it does not know as an operation error.
void check_local_protection_error(const ibv_wc& refused) {
  INFO(describe(refused));
  CHECK((refused.status == IBV_WC_LOC_PROT_ERR || refused.status == IBV_WC_LOC_QP_OP_ERR));
}

void expect_local_protection_error(Side& side) {
  check_local_protection_error(failure(side.sends, 1));
  CHECK(eventually([&] { return side.qp.state() == IBV_QPS_ERR; }));
}

void expect_refused_as_source(const Local& local) {
  Pair pair;
  const LocalBuffer source = local(pair.a);
  must(pair.a.qp.post_write(source, pair.b.remote(0, source.length), 1, kSignaled));
  expect_local_protection_error(pair.a);
  CHECK(all_bytes(pair.b.bytes(), 0));
}

void expect_refused_as_destination(const Local& local) {
  Pair pair;
  fill(pair.b.bytes(), 1);
  const LocalBuffer destination = local(pair.a);
  must(pair.a.qp.post_read(destination, pair.b.remote(0, destination.length), 1, kSignaled));
  expect_local_protection_error(pair.a);
  CHECK(all_bytes(pair.a.bytes(), 0));
}

LocalBuffer with_wrong_key(Side& side) {
  LocalBuffer buffer = side.local(0, 64);
  buffer.lkey ^= 0x00010000;
  return buffer;
}

LocalBuffer past_the_end(Side& side) {
  LocalBuffer buffer = side.local(side.bytes().size() - 32, 64);
  return buffer;
}

LocalBuffer before_the_start(Side& side) {
  LocalBuffer buffer = side.local(0, 64);
  buffer.address = static_cast<std::byte*>(buffer.address) - 32;
  return buffer;
}

}  // namespace

TEST_CASE("wrong_lkey_is_a_local_protection_error") {
  expect_refused_as_source(with_wrong_key);
  expect_refused_as_destination(with_wrong_key);
}

TEST_CASE("local_buffer_out_of_bounds_is_a_local_protection_error") {
  expect_refused_as_source(past_the_end);
  expect_refused_as_destination(past_the_end);
  expect_refused_as_source(before_the_start);
  expect_refused_as_destination(before_the_start);
}

TEST_CASE("lkey_of_another_protection_domain_is_a_local_protection_error") {
  Pair pair;
  ProtectionDomain other(*pair.device);
  MemoryRegion region(other, pair.a.segment.data(), 4096);
  must(pair.a.qp.post_write(region.local(0, 8), pair.b.remote(0, 8), 1, kSignaled));
  expect_local_protection_error(pair.a);
}

TEST_CASE("read_into_a_region_without_local_write_is_a_local_protection_error") {
  Pair pair;
  fill(pair.b.bytes(), 1);
  MemoryRegion readable(pair.a.pd, pair.a.segment.data(), 4096, IBV_ACCESS_REMOTE_READ);
  must(pair.a.qp.post_read(readable.local(0, 8), pair.b.remote(0, 8), 1, kSignaled));
  expect_local_protection_error(pair.a);
  CHECK(all_bytes(pair.a.bytes(), 0));
}

TEST_CASE("write_from_a_region_without_local_write_is_allowed") {
  Pair pair;
  MemoryRegion readable(pair.a.pd, pair.a.segment.data(), 4096, 0);
  pair.a.at<std::uint64_t>(0) = 8;
  must(pair.a.qp.post_write(readable.local(0, 8), pair.b.remote(0, 8), 1, kSignaled));
  success(pair.a.sends, 1);
  CHECK(pair.b.at<std::uint64_t>(0) == 8);
}

TEST_CASE("lkey_of_a_deregistered_region_is_a_local_protection_error") {
  const Local gone = [](Side& side) {
    return MemoryRegion(side.pd, side.segment.data(), 4096).local(0, 64);
  };
  expect_refused_as_source(gone);
  expect_refused_as_destination(gone);
}

TEST_CASE("receive_into_a_region_without_local_write_fails_on_both_sides") {
  Pair pair;
  fill(pair.a.bytes().first(64), 1);
  const MemoryRegion readable(pair.b.pd, pair.b.segment.data(), 4096, 0);
  must(pair.b.qp.post_receive(readable.local(0, 64), 1));
  must(pair.a.qp.post_send(pair.a.local(0, 64), 2, kSignaled));
  check_local_protection_error(failure(pair.b.receives, 1));
  const ibv_wc sent = failure(pair.a.sends, 2);
  INFO(describe(sent));
  CHECK(sent.status == IBV_WC_REM_OP_ERR);
  CHECK(all_bytes(pair.b.bytes(), 0));
}

TEST_CASE("receive_buffer_with_a_wrong_key_fails_on_both_sides") {
  Pair pair;
  fill(pair.a.bytes().first(64), 1);
  must(pair.b.qp.post_receive(with_wrong_key(pair.b), 1));
  must(pair.a.qp.post_send(pair.a.local(0, 64), 2, kSignaled));
  check_local_protection_error(failure(pair.b.receives, 1));
  const ibv_wc sent = failure(pair.a.sends, 2);
  INFO(describe(sent));
  CHECK(sent.status == IBV_WC_REM_OP_ERR);
  CHECK(all_bytes(pair.b.bytes(), 0));
}

TEST_CASE("receive_buffer_out_of_bounds_fails_on_both_sides_and_nothing_is_written_beyond") {
  for (const bool behind : {true, false}) {
    CAPTURE(behind);
    Pair pair;
    fill(pair.a.bytes().first(64), 1);
    // The bytes around it are mapped as well, but were not registered for this.
    const MemoryRegion middle(pair.b.pd, pair.b.segment.data() + 4096, 4096);
    LocalBuffer buffer = middle.local(0, 64);
    buffer.address = static_cast<std::byte*>(buffer.address) + (behind ? 4096 - 32 : -32);
    must(pair.b.qp.post_receive(buffer, 1));
    must(pair.a.qp.post_send(pair.a.local(0, 64), 2, kSignaled));
    check_local_protection_error(failure(pair.b.receives, 1));
    const ibv_wc sent = failure(pair.a.sends, 2);
    INFO(describe(sent));
    CHECK(sent.status == IBV_WC_REM_OP_ERR);
    CHECK(all_bytes(pair.b.bytes().first(4096), 0));
    CHECK(all_bytes(pair.b.bytes().subspan(8192), 0));
  }
}
