// SPDX-License-Identifier: MIT
// Directory: reads and compare-and-swaps of its words.
#include "directory.hpp"

#include "dtutils/synchronizer.hpp"

namespace caching::detail {
namespace {

bool done(dtutils::Transmitter& transmitter, const dtutils::Synchronizer& arrived) noexcept {
  return transmitter.wait(arrived) == dtutils::Synchronizer::Outcome::kDone;
}

}  // namespace

bool Directory::read(std::uint64_t key_hash, Peers::Scratch& scratch) {
  for (std::uint16_t tries = 0; tries < peers_.count(); ++tries) {
    const std::uint16_t home = peers_.home_of(key_hash);
    dtutils::Transmitter& to = peers_.fabric().transmitter({home});
    dtutils::Synchronizer arrived(1);
    // A post that fails has failed `arrived`.
    const bool posted = to.read(scratch.local(&scratch->bucket, sizeof(Bucket)),
                                peers_.bucket(home, peers_.bucket_of(key_hash)), arrived);
    if (posted && done(to, arrived)) return true;
    // Broken, but not failed yet in the eyes of this process: a miss.
    if (peers_.home_of(key_hash) == home) return false;
  }
  return false;
}

std::size_t Directory::place_for(const Bucket& bucket, Word word) const noexcept {
  std::size_t place = Bucket::kWords;
  std::size_t of_dead = Bucket::kWords;
  for (std::size_t i = Bucket::kWords; i-- > 0;) {
    const Word& there = bucket.words[i];
    if (there && there.tag() == word.tag() && there.process() == word.process()) return i;
    if (!there) {
      place = i;
    } else if (there.process() >= peers_.count() || !peers_.alive(there.process())) {
      of_dead = i;
    }
  }
  if (place == Bucket::kWords) place = of_dead;
  return place == Bucket::kWords ? word.value % Bucket::kWords : place;
}

dtutils::RemoteMemoryLocator Directory::word_at(const Listing& listing) const noexcept {
  return peers_.bucket(listing.home, listing.bucket)
      .part(offsetof(Bucket, words) + listing.slot * sizeof(Word), sizeof(Word));
}

std::optional<Listing> Directory::insert(std::uint64_t key_hash, Word word,
                                         Peers::Scratch& scratch) {
  const std::size_t place = place_for(scratch->bucket, word);
  const Listing listing{word, peers_.home_of(key_hash), static_cast<std::uint16_t>(place),
                        peers_.bucket_of(key_hash)};
  dtutils::Transmitter& to = peers_.fabric().transmitter({listing.home});
  dtutils::Synchronizer arrived(1);
  const std::uint64_t expected = scratch->bucket.words[place].value;
  const bool posted = to.compare_and_swap(scratch.local(&scratch->before, sizeof(std::uint64_t)),
                                          word_at(listing), expected, word.value, arrived);
  if (!posted || !done(to, arrived) || scratch->before != expected) return std::nullopt;
  return listing;
}

void Directory::remove(const Listing& listing) {
  if (!listing.word || !peers_.alive(listing.home)) return;
  // What a broken connection does not take out is in the memory of a process that has failed here.
  (void)peers_.fabric()
      .transmitter({listing.home})
      .compare_and_swap(peers_.sink(), word_at(listing), listing.word.value, 0);
}

}  // namespace caching::detail
