// SPDX-License-Identifier: MIT
// Memory that outlives the Transmitter which used it: its tags stay readable, and become done.
#include <memory>

#include "dtutils/retire_tags.hpp"
#include "dtutils/unit/transmitter_fixture.hpp"
#include "support/catch.hpp"

using namespace dtutils;
using support::TransmitterFixture;

namespace {

/// A post of a Transmitter that is gone afterwards, while its domain stays; the post's tag.
RetireTag tag_of_a_past_transmitter(TransmitterFixture& fixture, std::uint32_t threads,
                                    RetireTags& kept) {
  Transmitter transmitter(fixture.pd, fixture.receives, TransmitterOptions::for_threads(threads));
  transmitter.connect(transmitter.endpoint());
  REQUIRE(transmitter.write(fixture.here(), fixture.there));
  REQUIRE(kept.add(transmitter.tag()));
  CHECK_FALSE(kept.done());
  return transmitter.tag();
}

}  // namespace

TEST_CASE("tags_are_done_when_their_transmitter_is_gone") {
  for (const std::uint32_t threads : {1u, 16u}) {
    CAPTURE(threads);
    TransmitterFixture fixture(threads);
    RetireTags kept;
    const RetireTag tag = tag_of_a_past_transmitter(fixture, threads, kept);
    CHECK(tag.done());
    CHECK(kept.done());
    CHECK(kept.forget_done());
  }
}

TEST_CASE("tags_of_a_past_transmitter_are_not_taken_for_those_of_the_next") {
  TransmitterFixture fixture(1);
  RetireTags kept;
  const RetireTag past = tag_of_a_past_transmitter(fixture, 1, kept);
  Transmitter next(fixture.pd, fixture.receives, TransmitterOptions::for_threads(1));
  next.connect(next.endpoint());
  REQUIRE(next.write(fixture.here(), fixture.there));
  CHECK_FALSE(next.signaling().owns(past));
  REQUIRE(kept.add(next.tag()));
  CHECK_FALSE(kept.done());
  CHECK(past.done());
}
