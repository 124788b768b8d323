// SPDX-License-Identifier: MIT
// The word about an offer, changed by its owner while others change it.
#include "own_word.hpp"

#include <atomic>
#include <cstdint>

#include "dtutils/device.hpp"
#include "dtutils/shared_segment.hpp"
#include "support/catch.hpp"
#include "support/threads.hpp"

using namespace streams;
using namespace support;

namespace {

struct Words {
  explicit Words(bool by_device) : own(domain, region, words()[0], words()[8], by_device) {}
  std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(segment.data()); }

  std::unique_ptr<dtutils::Device> device = dtutils::open_device("shm");
  dtutils::ProtectionDomain domain{*device};
  dtutils::SharedSegment segment{4096, dtutils::PageKind::kSmall, -1};
  dtutils::MemoryRegion region{domain, segment.data(), segment.size()};
  OwnWord own;
};

}  // namespace

TEST_CASE("a_word_of_ones_own_is_swapped_when_it_is_as_expected_and_told_when_it_is_not") {
  Words words(GENERATE(false, true));
  words.own.store(7);
  CHECK(words.own.load() == 7);
  std::uint64_t expected = 6;
  CHECK_FALSE(words.own.compare_exchange(expected, 9));
  CHECK(expected == 7);
  CHECK(words.own.compare_exchange(expected, 9));
  CHECK(words.own.load() == 9);
  CHECK_FALSE(words.own.broken());
}

TEST_CASE("no_change_of_a_word_of_ones_own_is_lost_while_another_one_changes_it") {
  Words words(GENERATE(false, true));
  constexpr std::uint64_t kChanges = 20'000;
  Threads threads;
  threads.start([&] {
    for (std::uint64_t i = 0; i < kChanges; ++i) std::atomic_ref(words.words()[0]).fetch_add(1);
  });
  for (std::uint64_t i = 0; i < kChanges; ++i) {
    std::uint64_t expected = words.own.load();
    while (!words.own.compare_exchange(expected, expected + 1)) {
    }
  }
  threads.join();
  CHECK(words.own.load() == 2 * kChanges);
}
