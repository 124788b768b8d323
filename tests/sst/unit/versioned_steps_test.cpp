// SPDX-License-Identifier: MIT
// Versioned: every copy that a device can make in the middle of a store is whole or refused.
#include <signal.h>

#include <array>
#include <cstring>
#include <vector>

#include "sst/versioned.hpp"
#include "support/catch.hpp"

using namespace sst;

namespace {

using SixWords = std::array<std::uint64_t, 6>;
using Words = std::array<std::uint64_t, 8>;
static_assert(sizeof(Words) == sizeof(Versioned<SixWords>::Slot));

constexpr SixWords six_of(std::uint64_t number) {
  return {number, number, number, number, number, number};
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
constexpr bool kCanStep = true;
constexpr std::uint64_t kTrapFlag = 0x100;

/// What the handler compares with and fills in; it allocates nothing.
const Versioned<SixWords>::Slot* watched = nullptr;
std::array<Words, 64> states;
std::size_t recorded = 0;

void record_state(int) {
  Words now;
  std::memcpy(now.data(), static_cast<const void*>(watched), sizeof now);
  if (now != states[recorded - 1] && recorded < states.size()) states[recorded++] = now;
}

/// The states of a slot while `number` is stored into it, one for each word that changes: the
/// processor stops after every instruction.
std::vector<Words> states_of_store(Versioned<SixWords>& wide, std::uint64_t number) {
  watched = &wide.slots[number % 2];
  std::memcpy(states[0].data(), static_cast<const void*>(watched), sizeof(Words));
  recorded = 1;
  struct sigaction step {};
  struct sigaction before {};
  step.sa_handler = record_state;
  sigaction(SIGTRAP, &step, &before);
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | kTrapFlag);
  wide.store(six_of(number));
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~kTrapFlag);
  sigaction(SIGTRAP, &before, nullptr);
  return {states.begin(), states.begin() + static_cast<std::ptrdiff_t>(recorded)};
}
#else
constexpr bool kCanStep = false;
std::vector<Words> states_of_store(Versioned<SixWords>&, std::uint64_t) { return {}; }
#endif

/// Visits each copy of a slot whose words were read one after the other while its states went by:
/// no word is read at an earlier state than the one before it.
template <class Visit>
void for_each_copy(const std::vector<Words>& from, bool ascending, Words& copy, std::size_t word,
                   std::size_t earliest, const Visit& visit) {
  if (word == copy.size()) return visit(copy);
  const std::size_t place = ascending ? word : copy.size() - 1 - word;
  for (std::size_t state = earliest; state < from.size(); ++state) {
    copy[place] = from[state][place];
    for_each_copy(from, ascending, copy, word + 1, state, visit);
  }
}

}  // namespace

TEST_CASE("copies_made_while_a_store_is_under_way_are_whole_or_refused") {
  if (!kCanStep) {
    WARN("SKIPPED: stopping after each instruction works on x86-64, and not under tsan");
    return;
  }
  constexpr std::uint64_t kNumber = 5;
  Versioned<SixWords> wide{};
  for (std::uint64_t i = 1; i < kNumber; ++i) wide.store(six_of(i));
  const std::vector<Words> from = states_of_store(wide, kNumber);
  // At least six words, and the number twice.
  REQUIRE(from.size() >= 9);
  for (const bool ascending : {true, false}) {
    std::size_t copies = 0, taken = 0, wrong = 0;
    Words copy;
    for_each_copy(from, ascending, copy, 0, 0, [&](const Words& words) {
      ++copies;
      Versioned<SixWords> fetched{}, reader{};
      std::memcpy(static_cast<void*>(&fetched.slots[kNumber % 2]), words.data(), sizeof words);
      if (!reader.copy_if_newer(fetched)) return;
      ++taken;
      const SixWords value = reader.load();
      wrong += value != six_of(kNumber - 2) && value != six_of(kNumber);
    });
    CAPTURE(ascending);
    CHECK(copies > 10000);
    CHECK(taken > 1);
    CHECK(wrong == 0);
  }
}
