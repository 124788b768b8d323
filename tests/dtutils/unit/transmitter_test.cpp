// SPDX-License-Identifier: MIT
// Transmitter over a device whose every step the test decides: signaling, retirement, waits.
#include "dtutils/transmitter.hpp"

#include "dtutils/unit/transmitter_fixture.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

using namespace dtutils;
using support::TransmitterFixture;
using Outcome = Synchronizer::Outcome;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("one_request_in_k_is_signaled_when_the_device_keeps_up") {
  for (const std::uint32_t threads : {1u, 16u}) {
    TransmitterFixture fixture(threads);
    fixture.device.execute_on_poll(~std::size_t{0});
    constexpr std::size_t kPosts = 32 * 100;
    for (std::size_t i = 0; i < kPosts; ++i) REQUIRE(fixture.write());
    CHECK(fixture.device.signaled() >= kPosts / 32);
    CHECK(fixture.device.signaled() <= kPosts / 32 + 32);
    CHECK(fixture.device.max_outstanding() <= kSignalAllFrom + 1);
  }
}

TEST_CASE("queues_never_hold_more_than_promised_when_the_device_is_slow") {
  TransmitterFixture fixture(1);
  fixture.device.execute_on_poll(1, 3);
  for (int i = 0; i < 2000; ++i) REQUIRE(fixture.write());
  CHECK(fixture.device.max_outstanding() == kWindow);
  CHECK(fixture.device.max_completions() <= fixture.device.completion_depth());
}

TEST_CASE("flush_retires_what_was_never_signaled") {
  for (const std::uint32_t threads : {1u, 16u}) {
    TransmitterFixture fixture(threads);
    REQUIRE(fixture.write());
    const RetireTag tag = fixture.transmitter.tag();
    CHECK(fixture.device.signaled() == 0);
    CHECK_FALSE(tag.done());
    fixture.device.execute_on_poll(1);
    CHECK(fixture.transmitter.flush(seconds(20)));
    CHECK(tag.done());
    CHECK(fixture.device.posted().back().elements == 0);
  }
}

TEST_CASE("flush_of_nothing_new_posts_nothing_when_exclusive") {
  TransmitterFixture fixture(1);
  CHECK(fixture.transmitter.flush());
  fixture.device.execute_on_poll(1);
  REQUIRE(fixture.write());
  REQUIRE(fixture.transmitter.flush());
  const std::size_t posts = fixture.device.posted().size();
  CHECK(fixture.transmitter.flush());
  CHECK(fixture.device.posted().size() == posts);
}

TEST_CASE("waits_give_up_in_time_when_the_device_does_nothing") {
  TransmitterFixture fixture(1);
  Synchronizer sent(1);
  REQUIRE(fixture.write(sent));
  CHECK_FALSE(fixture.transmitter.flush(milliseconds(3)));
  CHECK_FALSE(fixture.transmitter.wait(fixture.transmitter.tag(), milliseconds(3)));
  CHECK(fixture.transmitter.wait(sent, milliseconds(3)) == Outcome::kTimeout);
  CHECK_FALSE(fixture.transmitter.broken());
  fixture.device.execute();
  CHECK(fixture.transmitter.wait(sent, seconds(20)) == Outcome::kDone);
}

TEST_CASE("ticket_is_told_from_its_low_48_bits_when_these_begin_anew") {
  for (const std::uint32_t threads : {1u, 16u}) {
    TransmitterFixture fixture(threads);
    // As after so many posts. The first tickets then are the low bits of those behind the border.
    constexpr std::uint64_t kBorder = std::uint64_t{1} << 48;
    auto& signaling = const_cast<SelectiveSignaling&>(fixture.transmitter.signaling());
    signaling.retire(kBorder - 10);
    const std::uint64_t low_bits = signaling.issued();
    REQUIRE(fixture.write(kSignaled));
    fixture.device.execute();
    REQUIRE(fixture.transmitter.progress());
    CHECK(signaling.retired() == kBorder + low_bits + 1);
  }
}

TEST_CASE("tag_of_another_transmitter_is_refused") {
  TransmitterFixture fixture(1);
  TransmitterFixture other(1);
  REQUIRE(other.write());
  CHECK_FALSE(fixture.transmitter.wait(other.transmitter.tag()));
  CHECK(fixture.transmitter.wait(RetireTag{}));
}

TEST_CASE("synchronizer_is_decremented_when_its_transfer_is_done_and_not_before") {
  for (const std::uint32_t threads : {1u, 16u}) {
    TransmitterFixture fixture(threads);
    Synchronizer sent(3);
    for (int i = 0; i < 3; ++i) REQUIRE(fixture.write(sent));
    CHECK_FALSE(fixture.transmitter.progress());
    for (std::uint32_t left = 3; left > 0; --left) {
      CHECK(sent.pending() == left);
      fixture.device.execute(1);
      CHECK(fixture.transmitter.progress());
    }
    CHECK(sent.outcome() == Outcome::kDone);
  }
}

TEST_CASE("many_synchronizers_are_delivered_across_full_windows") {
  TransmitterFixture fixture(4);
  fixture.device.execute_on_poll(2);
  constexpr std::uint32_t kPosts = 3000;
  Synchronizer sent(kPosts);
  for (std::uint32_t i = 0; i < kPosts; ++i) REQUIRE(fixture.write(sent));
  CHECK(fixture.transmitter.wait(sent, seconds(20)) == Outcome::kDone);
  CHECK(fixture.device.max_outstanding() <= kWindow + 3);
}

TEST_CASE("blocking_operations_return_the_result") {
  TransmitterFixture fixture(4);
  fixture.device.execute_on_poll(1);
  std::uint64_t target = 41;
  fixture.device.on_execute = [&](const ibv_send_wr& request, const ibv_sge& element) {
    auto* result = reinterpret_cast<std::uint64_t*>(element.addr);
    if (request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      *result = std::exchange(target, target + request.wr.atomic.compare_add);
    } else if (request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
      *result = target;
      if (target == request.wr.atomic.compare_add) target = request.wr.atomic.swap;
    } else {
      *result = 7;
    }
  };
  CHECK(fixture.transmitter.blocking_fetch_and_add(fixture.there, 2) == 41u);
  CHECK(fixture.transmitter.blocking_compare_and_swap(fixture.there, 1, 5) == 43u);
  CHECK(fixture.transmitter.blocking_compare_and_swap(fixture.there, 43, 5) == 43u);
  CHECK(target == 5);
  CHECK(fixture.transmitter.blocking_read(fixture.here(), fixture.there));
  CHECK(fixture.word == 7);
  // Slots of earlier results are used again.
  for (std::uint64_t i = 0; i < 2000; ++i) {
    REQUIRE(fixture.transmitter.blocking_fetch_and_add(fixture.there, 1) == 5 + i);
  }
}

TEST_CASE("each_operation_posts_its_opcode_and_flags") {
  TransmitterFixture fixture(1);
  auto& transmitter = fixture.transmitter;
  Synchronizer sent(1);
  REQUIRE(transmitter.write(fixture.here(), fixture.there, kInlined));
  REQUIRE(transmitter.write_with_immediate(fixture.here(), fixture.there, 9, kSolicited));
  REQUIRE(transmitter.read(fixture.here(), fixture.there));
  REQUIRE(transmitter.send(fixture.here(), {sent, kInlined}));
  REQUIRE(transmitter.send_with_immediate(fixture.here(), 9));
  REQUIRE(transmitter.compare_and_swap(fixture.here(), fixture.there, 1, 2, kFenced));
  REQUIRE(transmitter.fetch_and_add(fixture.here(), fixture.there, 1, kSignaled));
  const auto posted = fixture.device.posted();
  const ibv_wr_opcode opcodes[] = {
      IBV_WR_RDMA_WRITE,    IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,           IBV_WR_SEND,
      IBV_WR_SEND_WITH_IMM, IBV_WR_ATOMIC_CMP_AND_SWP,  IBV_WR_ATOMIC_FETCH_AND_ADD};
  const unsigned flags[] = {
      IBV_SEND_INLINE, IBV_SEND_SOLICITED, 0, IBV_SEND_INLINE | IBV_SEND_SIGNALED, 0,
      IBV_SEND_FENCE,  IBV_SEND_SIGNALED};
  REQUIRE(posted.size() == std::size(opcodes));
  for (std::size_t i = 0; i < posted.size(); ++i) {
    CHECK(posted[i].opcode == opcodes[i]);
    CHECK(posted[i].flags == flags[i]);
  }
  fixture.device.execute();
  CHECK(transmitter.flush(seconds(20)));
  CHECK(sent.done());
}

TEST_CASE("recycled_memory_is_tagged_or_waited_for") {
  struct Memory {
    LocalBuffer local() { return buffer; }
    bool retire_at(RetireTag given) {
      tag = given;
      return room;
    }
    LocalBuffer buffer;
    bool room = true;
    RetireTag tag;
  };
  TransmitterFixture fixture(1);
  Memory memory{fixture.here(), true, {}};
  REQUIRE(fixture.transmitter.write(memory, fixture.there));
  CHECK_FALSE(memory.tag.done());
  fixture.device.execute_on_poll(1);
  memory.room = false;
  REQUIRE(fixture.transmitter.send(memory));
  CHECK(memory.tag.done());
}

TEST_CASE("options_that_break_a_relation_are_refused") {
  support::ScriptedDevice device;
  ProtectionDomain pd(device);
  CompletionQueue receives(device, 16);
  TransmitterOptions options;
  options.queue_pair.send_depth = 64;
  CHECK_THAT(support::error_text([&] { Transmitter(pd, receives, options); }),
             support::contains("send_depth of at least 207"));
  options = TransmitterOptions::for_threads(10'000);
  CHECK_THAT(support::error_text([&] { Transmitter(pd, receives, options); }),
             support::contains("too large"));
}
