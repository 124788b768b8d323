// SPDX-License-Identifier: MIT
// FullTable: buckets of words that say that they are taken.
#include "full_table.hpp"

#include <bit>

#include "dsfabric/send_channel.hpp"
#include "dtutils/error.hpp"
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

/// A hash of a bucket.
constexpr std::uint64_t hash_in(std::uint64_t bucket) noexcept { return bucket << (64 - kDepth); }

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

void FullTable::take_lines() {
  // A compare-and-swap that fails takes the line all the same.
  const std::uint32_t block = port_->bucket_of(hash_in(next_)).index();
  for (std::uint32_t word = 0; word < kShape.block_words; word += kLineWords) {
    (void)port_->swap(block, word, ~std::uint64_t{0}, 0);
  }
}

void FullTable::make_block() {
  const std::uint64_t hash = hash_in(next_++);
  const detail::BucketWord bucket = port_->bucket_of(hash);
  dsfabric::SendChannel channel(self_.fabric());
  const detail::Room room = channel
                                .call_return(dsfabric::ThreadId::service_of(to_.process),
                                             [at = there_, hash, bucket](auto& call) {
                                               return at.get(call.fabric)->make_room(hash, bucket);
                                             })
                                .get();
  const detail::BucketWord made =
      detail::BucketWord{detail::load(port_->read(bucket.index()) + 1)}.itself();
  if (room != detail::Room::kMade || !made || next_ > kBuckets) {
    throw dtutils::Error("hashtable::cost::measure", "a full bucket got no further block",
                         "report this as a bug of hashtable");
  }
  (void)port_->read(made.index());
  const detail::Request<1, 1> request{Operation::kInsert, 0, hash, {hash}, {hash}};
  (void)detail::claim(*port_, made, 0, request);
}

}  // namespace hashtable::cost
