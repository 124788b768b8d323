// SPDX-License-Identifier: MIT
// FullTable: buckets of words that say that they are taken.
#include "full_table.hpp"

#include <bit>

#include "dsfabric/send_channel.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "hashtable/detail/attempt.hpp"
#include "hashtable/detail/meeting.hpp"

namespace hashtable::cost {
namespace {

constexpr detail::Shape kShape = detail::shape_of(1, 1);
constexpr unsigned kDepth = std::countr_zero(FullTable::kBuckets);
/// Room for two blocks a bucket, and the directory.
constexpr Options kOptions{.growth = Growth::kChain,
                           .bytes = (2 * kShape.block_bytes() + 64) * FullTable::kBuckets,
                           .buckets = FullTable::kBuckets};
constexpr std::uint32_t kLineWords = 8;

/// A hash of a bucket, with another fingerprint than the keys in its slots, which is 0.
constexpr std::uint64_t hash_in(std::uint64_t bucket) noexcept {
  return bucket << (64 - kDepth) | 1;
}

}  // namespace

FullTable::FullTable(dsfabric::Thread& self, dsfabric::ThreadId home)
    : self_(self), to_(home), home_(self, kShape, kOptions, 0) {
  for (std::uint64_t i = 0; i < kBuckets; ++i) {
    const detail::BucketWord bucket = home_.bucket_of(hash_in(i));
    for (std::uint32_t slot = 0; slot < kShape.slots; ++slot) {
      detail::store(
          home_.word(bucket.index(), kShape.word_at(slot)),
          detail::SlotWord::make(detail::SlotState::kLive, 0, 0, bucket.birth() + 1, 1).raw);
    }
  }
  const auto places = detail::meet(self, home_, kOptions, {});
  const detail::Place& place = places[self.fabric().rank_of(home)];
  there_ = dsfabric::GlobalPtr<detail::Home>(home.process, place.home);
  port_.emplace(self, home, place.region, kShape);
}

double FullTable::insert_ns(std::chrono::nanoseconds pause) {
  take_lines();
  stay_awake(pause);
  const auto begin = dtutils::Clock::now();
  insert();
  return std::chrono::duration<double, std::nano>(dtutils::Clock::now() - begin).count();
}

void FullTable::take_lines() {
  // This worker is the last one that wrote each line of the bucket, as it is in a table. A
  // compare-and-swap that fails takes the line all the same.
  const std::uint32_t block = port_->bucket_of(hash_in(next_)).index();
  for (std::uint32_t word = 0; word < kShape.block_words; word += kLineWords) {
    (void)port_->swap(block, word, ~std::uint64_t{0}, 0);
  }
}

void FullTable::insert() {
  const std::uint64_t hash = hash_in(next_++);
  detail::Request<1, 1> request{Operation::kInsert, 0, hash, {hash}, {hash}};
  detail::Seen<1> seen;
  const detail::BucketWord bucket = port_->bucket_of(hash);
  const bool full =
      next_ <= kBuckets && !detail::insert_blindly(*port_, bucket, request) &&
      detail::attempt(*port_, bucket, request, seen, false).ended == detail::Ended::kFull;
  dsfabric::SendChannel channel(self_.fabric());
  const detail::Room room = channel
                                .call_return(dsfabric::ThreadId::service_of(to_.process),
                                             [at = there_, hash, bucket](auto& call) {
                                               return at.get(call.fabric)->make_room(hash, bucket);
                                             })
                                .get();
  port_->refresh(hash);
  const detail::Attempt again =
      detail::attempt(*port_, port_->bucket_of(hash), request, seen, false);
  if (!full || room != detail::Room::kMade || again.status != Status::kDone) {
    throw dtutils::Error("hashtable::cost::measure", "a full bucket got no further block",
                         "report this as a bug of hashtable");
  }
}

void stay_awake(std::chrono::nanoseconds pause) {
  dtutils::Deadline over(pause);
  while (!over.passed()) dtutils::cpu_pause();
}

}  // namespace hashtable::cost
