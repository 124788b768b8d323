// SPDX-License-Identifier: MIT
// Misuse of a queue pair is an answer or an Error, never a hang.
#include "dtutils/queue_pair.hpp"

#include <cerrno>

#include "dtutils/unit/scripted_device.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

using namespace dtutils;
using std::chrono::milliseconds;
using support::contains;
using support::error_text;

namespace {

struct QueuePairFixture {
  explicit QueuePairFixture(const QueuePairOptions& options = {})
      : pd(device), sends(device, 512), receives(device, 512), qp(pd, sends, receives, options) {}

  void connect() { qp.connect(qp.endpoint()); }
  PostResult write(unsigned flags) {
    return qp.post_write({&word, 8, 1}, {reinterpret_cast<std::uint64_t>(&word), 8, 2}, 5, flags);
  }

  std::uint64_t word = 0;
  support::ScriptedDevice device;
  ProtectionDomain pd;
  CompletionQueue sends;
  CompletionQueue receives;
  QueuePair qp;
};

}  // namespace

TEST_CASE("waiting_for_something_never_signaled_is_an_answer_at_once") {
  QueuePairFixture fixture;
  fixture.connect();
  ibv_wc completion;
  CHECK(fixture.qp.wait(completion, milliseconds(60'000)) == QueuePair::Wait::kNothingSignaled);
  REQUIRE(fixture.write(kUnsignaled) == PostResult::kOk);
  CHECK(fixture.qp.wait(completion, milliseconds(60'000)) == QueuePair::Wait::kNothingSignaled);
}

TEST_CASE("wait_ends_by_completion_or_timeout_when_something_is_signaled") {
  QueuePairFixture fixture;
  fixture.connect();
  REQUIRE(fixture.write(kSignaled) == PostResult::kOk);
  ibv_wc completion;
  CHECK(fixture.qp.wait(completion, milliseconds(5)) == QueuePair::Wait::kTimeout);
  fixture.device.execute();
  CHECK(fixture.qp.wait(completion, milliseconds(60'000)) == QueuePair::Wait::kCompleted);
  CHECK(completion.wr_id == 5);
  CHECK(fixture.qp.wait(completion, milliseconds(60'000)) == QueuePair::Wait::kNothingSignaled);
}

TEST_CASE("wait_reports_an_overrun_completion_queue") {
  QueuePairFixture fixture;
  fixture.connect();
  REQUIRE(fixture.write(kSignaled) == PostResult::kOk);
  fixture.device.overrun();
  ibv_wc completion;
  CHECK(fixture.qp.wait(completion, milliseconds(60'000)) == QueuePair::Wait::kOverrun);
}

TEST_CASE("failed_requests_that_were_not_signaled_do_not_confuse_wait") {
  QueuePairFixture fixture;
  fixture.connect();
  REQUIRE(fixture.write(kUnsignaled) == PostResult::kOk);
  REQUIRE(fixture.write(kUnsignaled) == PostResult::kOk);
  fixture.device.fail_next(IBV_WC_RETRY_EXC_ERR);
  fixture.device.execute();
  ibv_wc completion;
  CHECK(fixture.qp.wait(completion, milliseconds(60'000)) == QueuePair::Wait::kCompleted);
  CHECK(fixture.qp.wait(completion, milliseconds(60'000)) == QueuePair::Wait::kCompleted);
  CHECK(fixture.qp.wait(completion, milliseconds(60'000)) == QueuePair::Wait::kNothingSignaled);
}

TEST_CASE("posts_tell_full_from_broken_from_invalid") {
  QueuePairOptions options;
  options.send_depth = 2;
  QueuePairFixture fixture(options);
  CHECK(fixture.write(kSignaled) == PostResult::kBroken);
  fixture.connect();
  fixture.device.refuse_next(EINVAL);
  CHECK(fixture.write(kSignaled) == PostResult::kInvalid);
  CHECK(fixture.write(kSignaled) == PostResult::kOk);
  CHECK(fixture.write(kSignaled) == PostResult::kOk);
  CHECK(fixture.write(kSignaled) == PostResult::kFull);
  fixture.device.refuse_next(-ENOMEM);
  CHECK(fixture.write(kSignaled) == PostResult::kFull);
  fixture.device.execute();
  ibv_wc completion;
  REQUIRE(fixture.sends.poll({&completion, 1}) == 1);
  CHECK(fixture.write(kSignaled) == PostResult::kOk);
  fixture.qp.disconnect();
  fixture.device.refuse_next(EINVAL);
  CHECK(fixture.write(kSignaled) == PostResult::kBroken);
}

TEST_CASE("chain_names_the_request_that_was_not_posted_and_counts_the_others") {
  QueuePairOptions options;
  options.send_depth = 2;
  QueuePairFixture fixture(options);
  fixture.connect();
  ibv_send_wr third{};
  third.opcode = IBV_WR_RDMA_WRITE;
  third.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr second = third;
  second.next = &third;
  ibv_send_wr first = third;
  first.send_flags = 0;
  first.next = &second;
  ibv_send_wr* bad = nullptr;
  CHECK(fixture.qp.post(first, &bad) == PostResult::kFull);
  CHECK(bad == &third);
  fixture.device.execute();
  ibv_wc completion;
  CHECK(fixture.qp.wait(completion, milliseconds(60'000)) == QueuePair::Wait::kCompleted);
  CHECK(fixture.qp.wait(completion, milliseconds(60'000)) == QueuePair::Wait::kNothingSignaled);
}

TEST_CASE("each_operation_posts_its_opcode") {
  QueuePairFixture fixture;
  fixture.connect();
  const LocalBuffer word{&fixture.word, 8, 1};
  const RemoteMemoryLocator there{8, 8, 2};
  REQUIRE(fixture.qp.post_write(word, there, 1, kInlined) == PostResult::kOk);
  REQUIRE(fixture.qp.post_write_with_immediate(word, there, 0x01020304, 2, kFenced) ==
          PostResult::kOk);
  REQUIRE(fixture.qp.post_read(word, there, 3, kSignaled) == PostResult::kOk);
  REQUIRE(fixture.qp.post_send(word, 4, kSolicited) == PostResult::kOk);
  REQUIRE(fixture.qp.post_send_with_immediate({}, 9, 5, kUnsignaled) == PostResult::kOk);
  REQUIRE(fixture.qp.post_compare_and_swap(word, there, 1, 2, 6, kSignaled) == PostResult::kOk);
  REQUIRE(fixture.qp.post_fetch_and_add(word, there, 1, 7, kSignaled) == PostResult::kOk);
  const auto posted = fixture.device.posted();
  const ibv_wr_opcode opcodes[] = {
      IBV_WR_RDMA_WRITE,    IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,           IBV_WR_SEND,
      IBV_WR_SEND_WITH_IMM, IBV_WR_ATOMIC_CMP_AND_SWP,  IBV_WR_ATOMIC_FETCH_AND_ADD};
  REQUIRE(posted.size() == std::size(opcodes));
  for (std::size_t i = 0; i < posted.size(); ++i) {
    CHECK(posted[i].opcode == opcodes[i]);
    CHECK(posted[i].id == i + 1);
  }
  CHECK(posted[0].flags == IBV_SEND_INLINE);
  CHECK(posted[3].flags == IBV_SEND_SOLICITED);
  CHECK(posted[4].elements == 0);
  ibv_wc completion{};
  completion.imm_data = posted[1].immediate;
  CHECK(immediate_of(completion) == 0x01020304);
}

TEST_CASE("device_that_grants_less_than_asked_is_refused") {
  support::ScriptedDevice device;
  ProtectionDomain pd(device);
  CompletionQueue completions(device, 16);
  device.grant_less(1);
  CHECK_THAT(error_text([&] { QueuePair(pd, completions, completions); }),
             contains("grants 255 sends") && contains("of 256"));
  CHECK_THAT(error_text([&] { SharedReceiveQueue(pd, 10); }), contains("grants 9 receives of 10"));
}

TEST_CASE("connect_refuses_another_device_another_host_and_a_second_time") {
  QueuePairFixture fixture;
  Endpoint peer = fixture.qp.endpoint();
  peer.kind = static_cast<std::uint8_t>(DeviceKind::kVerbs);
  CHECK_THAT(error_text([&] { fixture.qp.connect(peer); }), contains("CARIAMA_DEVICE"));
  peer = fixture.qp.endpoint();
  peer.host += 1;
  CHECK_THAT(error_text([&] { fixture.qp.connect(peer); }), contains("another host"));
  CHECK(fixture.qp.state() == IBV_QPS_RESET);
  fixture.connect();
  CHECK(fixture.qp.state() == IBV_QPS_RTS);
  CHECK_THAT(error_text([&] { fixture.connect(); }), contains("already connected"));
}
