// SPDX-License-Identifier: MIT
// The tags of a piece of memory are done when the last use of every queue pair is.
#include "dtutils/retire_tags.hpp"

#include <vector>

#include "support/busy_memory.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

namespace {

using dtutils::RetireTag;
using dtutils::RetireTags;
using support::FakeQueuePair;

}  // namespace

TEST_CASE("no_tags_are_done") {
  RetireTags tags;
  CHECK(tags.done());
  CHECK(tags.add(RetireTag{}));
  CHECK(tags.done());
}

TEST_CASE("last_tag_of_a_queue_pair_stands_for_the_earlier_ones") {
  FakeQueuePair qp;
  const RetireTag first = qp.post();
  const RetireTag second = qp.post();
  RetireTags tags;
  CHECK(tags.add(second));
  CHECK(tags.add(first));
  qp.complete(1);
  CHECK_FALSE(tags.done());
  qp.complete(1);
  CHECK(tags.done());
}

TEST_CASE("tags_of_several_queue_pairs_are_done_when_the_slowest_is") {
  FakeQueuePair a;
  FakeQueuePair b;
  FakeQueuePair c;
  RetireTags tags;
  tags.reserve(3);
  CHECK(tags.add(a.post()));
  CHECK(tags.add(b.post()));
  CHECK(tags.add(c.post()));
  a.complete(1);
  c.complete(1);
  CHECK_FALSE(tags.done());
  b.complete(1);
  CHECK(tags.done());
}

TEST_CASE("tag_without_room_is_refused_and_changes_nothing") {
  FakeQueuePair a;
  FakeQueuePair b;
  FakeQueuePair c;
  RetireTags tags;
  tags.reserve(2);
  CHECK(tags.add(a.post()));
  CHECK(tags.add(b.post()));
  CHECK_FALSE(tags.add(c.post()));
  CHECK(tags.add(a.post()));
  a.complete(2);
  CHECK(tags.add(c.post()));
  b.complete(1);
  CHECK_FALSE(tags.done());
  c.complete(2);
  CHECK(tags.done());
}

TEST_CASE("absorbed_tags_find_room_always") {
  std::vector<FakeQueuePair> qps(7);
  RetireTags from;
  from.reserve(7);
  for (FakeQueuePair& qp : qps) REQUIRE(from.add(qp.post()));
  RetireTags into;
  into.absorb(from);
  for (FakeQueuePair& qp : qps) {
    CHECK_FALSE(into.done());
    qp.complete(1);
  }
  CHECK(into.done());
}

TEST_CASE("forgotten_tags_are_not_looked_at_again") {
  FakeQueuePair stays;
  RetireTags tags;
  tags.reserve(2);
  {
    FakeQueuePair goes;
    CHECK(tags.add(goes.post()));
    CHECK(tags.add(stays.post()));
    CHECK_FALSE(tags.forget_done());
    goes.complete(1);
    CHECK_FALSE(tags.forget_done());
  }
  CHECK_FALSE(tags.done());
  stays.complete(1);
  CHECK(tags.forget_done());
}

TEST_CASE("tags_agree_with_a_list_of_all_tags_that_were_ever_added") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::Random random(seed);
  constexpr std::size_t kQueuePairs = 6;
  for (int round = 0; round < 200; ++round) {
    std::vector<FakeQueuePair> qps(kQueuePairs);
    std::vector<RetireTag> all;
    RetireTags tags;
    tags.reserve(4);
    for (int step = 0; step < 100; ++step) {
      FakeQueuePair& qp = qps[random.below(kQueuePairs)];
      if (random.one_in(2)) {
        const RetireTag tag = qp.post();
        if (tags.add(tag)) all.push_back(tag);
      } else if (qp.outstanding() > 0) {
        qp.complete(1 + random.below(qp.outstanding()));
      }
      if (random.one_in(10)) tags.forget_done();
      const bool done =
          std::all_of(all.begin(), all.end(), [](const RetireTag& tag) { return tag.done(); });
      REQUIRE(tags.done() == done);
    }
  }
}
