// SPDX-License-Identifier: MIT
// A Transmitter that breaks: it says why, lets every waiter go, and gives the memory back.
#include <cerrno>
#include <memory>

#include "dtutils/unit/transmitter_fixture.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

using namespace dtutils;
using support::TransmitterFixture;
using Outcome = Synchronizer::Outcome;
using std::chrono::seconds;

TEST_CASE("first_failed_completion_breaks_it_for_good_and_names_the_cause") {
  for (const std::uint32_t threads : {1u, 16u}) {
    TransmitterFixture fixture(threads);
    REQUIRE(fixture.write());
    REQUIRE(fixture.write());
    CHECK_FALSE(fixture.transmitter.error().has_value());
    fixture.device.fail_next(IBV_WC_RETRY_EXC_ERR);
    fixture.device.execute_on_poll(10);
    CHECK_FALSE(fixture.transmitter.flush(seconds(20)));
    CHECK(fixture.transmitter.broken());
    REQUIRE(fixture.transmitter.error().has_value());
    CHECK(fixture.transmitter.error()->status == IBV_WC_RETRY_EXC_ERR);
    CHECK(fixture.transmitter.error()->qp_num == 77);
    CHECK_FALSE(fixture.write());
    CHECK_FALSE(fixture.transmitter.flush(seconds(20)));
    CHECK_FALSE(fixture.transmitter.wait(fixture.transmitter.tag(), seconds(20)));
    CHECK_FALSE(fixture.transmitter.blocking_fetch_and_add(fixture.there, 1).has_value());
    CHECK_FALSE(fixture.transmitter.blocking_read(fixture.here(), fixture.there));
  }
}

TEST_CASE("every_synchronizer_hears_of_the_failure_once") {
  TransmitterFixture fixture(4);
  Synchronizer before(1);
  Synchronizer sent(3);
  REQUIRE(fixture.write(before));
  fixture.device.execute();
  REQUIRE(fixture.write(sent));
  REQUIRE(fixture.write());
  REQUIRE(fixture.write(sent));
  fixture.device.fail_next(IBV_WC_REM_ACCESS_ERR);
  fixture.device.execute();
  CHECK(before.pending() == 1);
  while (fixture.transmitter.progress()) {
  }
  CHECK(before.outcome() == Outcome::kDone);
  CHECK(sent.pending() == 1);
  CHECK(sent.failures() == 2);
  // Also for a post that is refused because it is known to be broken.
  CHECK_FALSE(fixture.write(sent));
  CHECK(fixture.transmitter.wait(sent, seconds(20)) == Outcome::kFailed);
}

TEST_CASE("tags_are_done_when_the_last_request_was_flushed_and_not_before") {
  for (const std::uint32_t threads : {1u, 16u}) {
    TransmitterFixture fixture(threads);
    for (int i = 0; i < 5; ++i) REQUIRE(fixture.write());
    const RetireTag tag = fixture.transmitter.tag();
    fixture.device.fail_next(IBV_WC_RETRY_EXC_ERR);
    fixture.device.execute(1);
    REQUIRE(fixture.transmitter.progress());
    CHECK(fixture.transmitter.broken());
    // Four requests are with the device still; a marker is posted behind them.
    CHECK_FALSE(fixture.transmitter.progress());
    fixture.device.execute(4);
    for (int i = 0; i < 4; ++i) REQUIRE(fixture.transmitter.progress());
    CHECK_FALSE(fixture.transmitter.progress());
    CHECK_FALSE(tag.done());
    fixture.device.execute(1);
    CHECK(fixture.transmitter.progress());
    CHECK(tag.done());
    CHECK(fixture.device.posted().size() == 6);
    // Memory of posts that come too late is free at once.
    CHECK_FALSE(fixture.write());
    CHECK(fixture.transmitter.tag().done());
    CHECK_FALSE(fixture.transmitter.wait(fixture.transmitter.tag()));
  }
}

TEST_CASE("flushed_before_the_cause_is_replaced_by_the_cause") {
  TransmitterFixture fixture(16);
  REQUIRE(fixture.write());
  fixture.device.fail_next(IBV_WC_RETRY_EXC_ERR);
  fixture.device.execute();
  // The device takes no more, because it is broken; why is in the completion queue.
  fixture.device.refuse_next(EINVAL);
  CHECK_FALSE(fixture.write());
  REQUIRE(fixture.transmitter.error().has_value());
  CHECK(fixture.transmitter.error()->status == IBV_WC_RETRY_EXC_ERR);
}

TEST_CASE("refused_request_breaks_it_as_the_device_would") {
  TransmitterFixture fixture(4);
  Synchronizer sent(2);
  REQUIRE(fixture.write(sent));
  fixture.device.refuse_next(EINVAL);
  CHECK_FALSE(fixture.write(sent));
  REQUIRE(fixture.transmitter.error().has_value());
  CHECK(fixture.transmitter.error()->status == IBV_WC_LOC_QP_OP_ERR);
  CHECK(fixture.transmitter.error()->vendor_err == EINVAL);
  CHECK_THAT(describe(*fixture.transmitter.error()), support::contains("connected"));
  CHECK(fixture.transmitter.queue_pair().state() == IBV_QPS_ERR);
  fixture.device.execute();
  CHECK(fixture.transmitter.wait(sent, seconds(20)) == Outcome::kFailed);
  CHECK(sent.failures() == 2);
  CHECK_FALSE(fixture.write());
}

TEST_CASE("post_before_the_connection_is_an_error_and_no_hang") {
  support::ScriptedDevice device;
  ProtectionDomain pd(device);
  CompletionQueue receives(device, 16);
  Transmitter transmitter(pd, receives);
  CHECK_FALSE(transmitter.write(LocalBuffer{}, RemoteMemoryLocator{}));
  CHECK(transmitter.broken());
  CHECK_FALSE(transmitter.flush());
}

TEST_CASE("overrun_of_the_completion_queue_fails_all_waiters") {
  TransmitterFixture fixture(4);
  Synchronizer sent(2);
  REQUIRE(fixture.write(sent));
  REQUIRE(fixture.write(sent));
  fixture.device.overrun();
  CHECK(fixture.transmitter.wait(sent, seconds(20)) == Outcome::kFailed);
  CHECK(fixture.transmitter.error()->status == IBV_WC_GENERAL_ERR);
  CHECK_FALSE(fixture.write());
}

TEST_CASE("window_that_is_full_when_the_pair_breaks_lets_the_waiter_go") {
  TransmitterFixture fixture(1);
  for (std::uint32_t i = 0; i < kWindow; ++i) REQUIRE(fixture.write());
  fixture.device.fail_next(IBV_WC_RETRY_EXC_ERR);
  fixture.device.execute_on_poll(1);
  CHECK_FALSE(fixture.write());
  CHECK(fixture.transmitter.error()->status == IBV_WC_RETRY_EXC_ERR);
}

TEST_CASE("end_of_the_transmitter_fails_what_is_outstanding_and_delivers_what_is_done") {
  Synchronizer done(1);
  Synchronizer outstanding(1);
  {
    TransmitterFixture fixture(4);
    REQUIRE(fixture.write(done));
    fixture.device.execute();
    REQUIRE(fixture.write(outstanding));
  }
  CHECK(done.outcome() == Outcome::kDone);
  CHECK(outstanding.outcome() == Outcome::kFailed);
}

TEST_CASE("registered_memory_of_its_own_goes_back_when_the_peer_is_gone_and_not_before") {
  for (const std::uint32_t threads : {1u, 16u}) {
    TransmitterFixture fixture(threads);
    Transmitter& transmitter = fixture.transmitter;
    REQUIRE(fixture.write());
    fixture.device.execute();
    CHECK_FALSE(transmitter.give_back());
    // It has asked the peer, and asks again when that was answered.
    CHECK_FALSE(transmitter.give_back());
    CHECK(fixture.device.posted().size() == 2);
    fixture.device.execute();
    CHECK_FALSE(transmitter.give_back());
    CHECK_FALSE(transmitter.give_back());
    CHECK(fixture.device.posted().size() == 3);
    fixture.device.fail_next(IBV_WC_RETRY_EXC_ERR);
    fixture.device.execute();
    // The marker behind everything is with the device still.
    CHECK_FALSE(transmitter.give_back());
    CHECK(transmitter.broken());
    CHECK(fixture.device.regions() == 1);
    fixture.device.execute();
    CHECK(transmitter.give_back());
    CHECK(fixture.device.regions() == 0);
    CHECK_FALSE(transmitter.blocking_fetch_and_add(fixture.there, 1).has_value());
    CHECK_FALSE(fixture.write());
    CHECK(transmitter.give_back());
  }
}

TEST_CASE("giving_back_does_not_wait_for_room_in_a_full_window") {
  TransmitterFixture fixture(1);
  for (std::uint32_t i = 0; i < kWindow; ++i) REQUIRE(fixture.write());
  CHECK_FALSE(fixture.transmitter.give_back());
  CHECK(fixture.device.posted().size() == kWindow);
}
