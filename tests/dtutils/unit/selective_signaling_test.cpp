// SPDX-License-Identifier: MIT
// The protocol of selective signaling without a device: what is signaled, who waits, what retires.
#include "dtutils/selective_signaling.hpp"

#include <cstdint>
#include <random>

#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/random.hpp"

using dtutils::RetireTag;
using dtutils::SelectiveSignaling;
using dtutils::SignalingParameters;
using support::contains;
using support::error_text;
using Admission = SelectiveSignaling::Admission;

namespace {

SignalingParameters parameters(std::uint32_t threads, std::uint32_t interval,
                               std::uint32_t threshold, std::uint32_t window) {
  SignalingParameters made;
  made.sharing_threads = threads;
  made.signal_interval = interval;
  made.signal_all_from = threshold;
  made.window = window;
  made.check(made.needed_send_depth(), made.needed_completion_depth());
  return made;
}

std::string refusal_of_signaling(const SignalingParameters& wrong,
                                 std::uint32_t send_depth = 1 << 20,
                                 std::uint32_t completion_depth = 1 << 20) {
  return error_text([&] { wrong.check(send_depth, completion_depth); });
}

std::uint64_t take(SelectiveSignaling& signaling, int count) {
  std::uint64_t last = 0;
  for (int i = 0; i < count; ++i) last = signaling.take();
  return last;
}

}  // namespace

TEST_CASE("parameters_for_any_number_of_threads_keep_the_relations") {
  for (std::uint32_t threads = 1; threads <= 256; ++threads) {
    const SignalingParameters made = SignalingParameters::for_threads(threads);
    CHECK(made.sharing_threads == threads);
    CHECK_NOTHROW(made.check(made.needed_send_depth(), made.needed_completion_depth()));
  }
  CHECK_NOTHROW(SignalingParameters{}.check(dtutils::kSendDepth, dtutils::kSendDepth));
}

TEST_CASE("parameters_that_break_a_relation_are_refused_by_name") {
  SignalingParameters wrong;
  wrong.sharing_threads = 0;
  CHECK_THAT(refusal_of_signaling(wrong), contains("sharing_threads"));

  wrong = {};
  wrong.signal_interval = 48;
  CHECK_THAT(refusal_of_signaling(wrong), contains("signal_interval is 48") && contains("use 64"));
  wrong.signal_interval = 0;
  CHECK_THAT(refusal_of_signaling(wrong), contains("signal_interval is 0") && contains("use 1"));

  wrong = {};
  wrong.signal_all_from = 0;
  CHECK_THAT(refusal_of_signaling(wrong), contains("signal_all_from is 0"));

  wrong = {};
  wrong.sharing_threads = 33;
  CHECK_THAT(refusal_of_signaling(wrong),
             contains("33 threads") && contains("window of at least 193"));
  wrong.window = 193;
  CHECK(refusal_of_signaling(wrong) == "(no error)");
  wrong.window = 100;
  CHECK_THAT(refusal_of_signaling(wrong), contains("window 100"));
}

TEST_CASE("parameters_whose_sums_have_more_than_32_bits_are_refused") {
  SignalingParameters wrong;
  wrong.window = UINT32_MAX;
  CHECK_THAT(refusal_of_signaling(wrong), contains("more than any send queue"));
  CHECK_THAT(refusal_of_signaling(SignalingParameters::for_threads(UINT32_MAX)),
             contains("more than any send queue"));
}

TEST_CASE("queues_that_are_too_shallow_are_refused") {
  const SignalingParameters made;
  const std::uint32_t sends = made.window + made.sharing_threads - 1;
  CHECK(refusal_of_signaling(made, sends, sends + 1) == "(no error)");
  CHECK_THAT(refusal_of_signaling(made, sends - 1, sends + 1),
             contains("send queue holds 206") && contains("207"));
  CHECK_THAT(refusal_of_signaling(made, sends, sends), contains("completion queue holds 207"));
}

TEST_CASE("below_the_band_one_ticket_in_k_is_signaled") {
  SelectiveSignaling signaling(parameters(2, 4, 16, 24));
  int signaled = 0;
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t ticket = signaling.take();
    REQUIRE(signaling.below_signal_threshold(ticket));
    CHECK(signaling.admit(ticket) ==
          (signaling.signals_regularly(ticket) ? Admission::kSignaled : Admission::kUnsignaled));
    signaled += signaling.signals_regularly(ticket);
  }
  CHECK(signaled == 4);
}

TEST_CASE("in_the_band_every_ticket_is_signaled") {
  SelectiveSignaling signaling(parameters(2, 4, 16, 24));
  take(signaling, 16);
  for (int i = 16; i < 24; ++i) {
    const std::uint64_t ticket = signaling.take();
    CHECK_FALSE(signaling.below_signal_threshold(ticket));
    CHECK(signaling.admit(ticket) == Admission::kSignaled);
  }
}

TEST_CASE("a_full_window_waits_until_something_retires") {
  SelectiveSignaling signaling(parameters(2, 4, 16, 24));
  take(signaling, 24);
  const std::uint64_t ticket = signaling.take();
  CHECK(signaling.admit(ticket) == Admission::kWait);
  signaling.retire(1);
  CHECK(signaling.admit(ticket) == Admission::kSignaled);
  signaling.retire(20);
  CHECK(signaling.below_signal_threshold(ticket));
}

TEST_CASE("a_smaller_ticket_that_completes_late_takes_nothing_back") {
  for (const std::uint32_t threads : {1u, 4u}) {
    SelectiveSignaling signaling(parameters(threads, 4, 16, 24));
    take(signaling, 20);
    signaling.retire(12);
    CHECK(signaling.retired() == 13);
    signaling.retire(4);
    CHECK(signaling.retired() == 13);
  }
}

TEST_CASE("a_ticket_that_others_have_overtaken_is_posted") {
  SelectiveSignaling signaling(parameters(2, 4, 16, 24));
  const std::uint64_t slow = signaling.take();
  signaling.retire(take(signaling, 20));
  CHECK(signaling.admit(slow) != Admission::kWait);
}

TEST_CASE("tag_of_a_shared_one_waits_for_a_ticket_taken_after_the_post") {
  SelectiveSignaling signaling(parameters(2, 4, 16, 24));
  const std::uint64_t ticket = signaling.take();
  const RetireTag tag = signaling.tag();
  CHECK(signaling.owns(tag));
  // Another thread may have posted its larger ticket before, so its completion would not do; but
  // that ticket was taken before the tag was asked for. This one was, too.
  signaling.retire(ticket);
  CHECK_FALSE(tag.done());
  signaling.retire(signaling.take());
  CHECK(tag.done());
}

TEST_CASE("tag_of_an_exclusive_one_waits_for_its_own_ticket") {
  SelectiveSignaling signaling(parameters(1, 4, 16, 24));
  CHECK(signaling.tag().done());
  const std::uint64_t ticket = signaling.take();
  const RetireTag tag = signaling.tag();
  CHECK_FALSE(tag.done());
  signaling.retire(ticket);
  CHECK(tag.done());
}

TEST_CASE("quiet_tickets_are_those_that_would_be_posted_unsignaled") {
  const std::uint64_t seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  SelectiveSignaling signaling(parameters(1, 4, 16, 24));
  std::uint64_t last = 0;
  int quiet = 0;
  constexpr int kTickets = 20000;
  for (int i = 0; i < kTickets; ++i) {
    std::uint64_t ticket;
    if (signaling.try_take_unsignaled(ticket)) {
      ++quiet;
      REQUIRE(signaling.admit(ticket) == Admission::kUnsignaled);
    } else {
      ticket = signaling.take();
    }
    REQUIRE(ticket == ++last);
    // At times nothing retires for long, so that the threshold and the window are met.
    if (random() % 1024 < (i / 1000 % 2 == 0 ? 900 : 40)) {
      signaling.retire(signaling.retired() + random() % (last + 1 - signaling.retired()));
    }
  }
  CHECK(quiet > kTickets / 4);
}

TEST_CASE("no_ticket_is_quiet_after_a_failure_or_among_several_threads") {
  for (const std::uint32_t threads : {1u, 2u}) {
    SelectiveSignaling signaling(parameters(threads, 4, 16, 24));
    std::uint64_t ticket;
    signaling.retire(take(signaling, 5));
    CHECK(signaling.try_take_unsignaled(ticket) == (threads == 1));
    signaling.fail();
    CHECK_FALSE(signaling.try_take_unsignaled(ticket));
    take(signaling, 1);
    CHECK_FALSE(signaling.try_take_unsignaled(ticket));
    signaling.retire_all();
    take(signaling, 1);
    CHECK_FALSE(signaling.try_take_unsignaled(ticket));
  }
}

TEST_CASE("empty_tag_is_done") { CHECK(RetireTag{}.done()); }

TEST_CASE("after_a_failure_nothing_is_posted_and_tags_wait_for_the_end_of_the_flush") {
  for (const std::uint32_t threads : {1u, 4u}) {
    SelectiveSignaling signaling(parameters(threads, 4, 16, 24));
    take(signaling, 3);
    const RetireTag tag = signaling.tag();
    signaling.fail();
    const std::uint64_t ticket = signaling.take();
    CHECK_FALSE(signaling.below_signal_threshold(ticket));
    CHECK(signaling.admit(ticket) == Admission::kBroken);
    CHECK_FALSE(tag.done());
    signaling.retire_all();
    CHECK(tag.done());
    CHECK_FALSE(signaling.below_signal_threshold(signaling.take()));
    CHECK(signaling.admit(signaling.take()) == Admission::kBroken);
  }
}
