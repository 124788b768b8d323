// SPDX-License-Identifier: MIT
// Memory that is taken away while the peer may be reading from it.
#include "page_guard.hpp"

#include <chrono>
#include <cstring>

#include "../support/asynchronous.hpp"
#include "offer.hpp"
#include "support/catch.hpp"

using namespace streams;
using namespace support;

namespace {

/// An offer that is protected, with the word that the peer would change.
struct Offered {
  explicit Offered(PageProtection way) : guard(PageGuard::shared(way)) {
    REQUIRE(guard != nullptr);
    std::memset(pages.bytes().data(), 1, pages.bytes().size());
    offer = {.begin = pages.bytes().data(),
             .length = pages.bytes().size(),
             .spare = spare.bytes().data(),
             .word = &word,
             .number = 1};
    set(OfferState::kOffered);
    REQUIRE(guard->protect(offer));
  }
  ~Offered() { guard->release(offer); }

  void set(OfferState state) { std::atomic_ref(word).store(OfferWord{1, state, 0}.raw()); }
  OfferState state() { return OfferWord::from(std::atomic_ref(word).load()).state; }
  std::chrono::steady_clock::duration detach() {
    const auto begin = std::chrono::steady_clock::now();
    const auto address = reinterpret_cast<std::uint64_t>(offer.begin);
    guard->detach(address, address + offer.length);
    return std::chrono::steady_clock::now() - begin;
  }

  PageGuard* guard;
  Pages pages{4 * kGuardedPage};
  Pages spare{4 * kGuardedPage};
  std::uint64_t word = 0;
  GuardedOffer offer;
};

}  // namespace

TEST_CASE("memory_that_nobody_reads_is_detached_at_once") {
  Offered offered(GENERATE(from_range(permitted_protections())));
  CHECK(offered.detach() < kPatience);
  CHECK(offered.state() == OfferState::kMoved);
  CHECK(offered.spare.bytes().back() == std::byte{1});
}

TEST_CASE("memory_is_detached_when_its_reader_has_had_time") {
  Offered offered(GENERATE(from_range(permitted_protections())));
  offered.set(OfferState::kReading);
  // For a reader that never goes on, not for ever.
  const auto took = offered.detach();
  CHECK(took >= kPatienceWithReader / 2);
  CHECK(took < kPatience);
  CHECK(offered.state() == OfferState::kMoved);
}

TEST_CASE("pages_are_protected_for_one_offer_at_a_time") {
  Offered offered(GENERATE(from_range(permitted_protections())));
  std::uint64_t other_word = OfferWord{1, OfferState::kOffered, 0}.raw();
  Pages other_spare(4 * kGuardedPage);
  GuardedOffer other{.begin = offered.offer.begin + 3 * kGuardedPage,
                     .length = kGuardedPage,
                     .spare = other_spare.bytes().data(),
                     .word = &other_word,
                     .number = 1};
  CHECK_FALSE(offered.guard->protect(other));
  Pages elsewhere(kGuardedPage);
  other.begin = elsewhere.bytes().data();
  CHECK(offered.guard->protect(other));
  offered.guard->release(other);
  offered.guard->release(offered.offer);
  other.begin = offered.offer.begin;
  CHECK(offered.guard->protect(other));
  offered.guard->release(other);
}
