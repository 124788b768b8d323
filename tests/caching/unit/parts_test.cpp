// SPDX-License-Identifier: MIT
// Sizes, memory, replacement, blocks and the index, each by itself.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "arena.hpp"
#include "block.hpp"
#include "local_cache.hpp"
#include "replacer.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using namespace caching;
using namespace caching::detail;

TEST_CASE("sizes_of_blocks_waste_at_most_a_sixteenth_and_survive_their_code") {
  for (std::uint64_t units = 1; units <= kMaxUnits; units += 1 + units / 37) {
    const std::uint64_t rounded = units_of_code(code_of_units(units));
    CHECK(rounded >= units);
    CHECK(rounded <= units + units / 16);
    CHECK(units_of_code(code_of_units(rounded)) == rounded);
    const Word word = Word::of(0xabcd'ef01'2345'6789, 4093, rounded, 0x3ff'fffe);
    CHECK((word.units() == rounded && word.process() == 4093 && word.block() == 0x3ff'fffe));
    CHECK(word.tag() == Word::tag_of(0xabcd'ef01'2345'6789));
  }
  CHECK(!Word{});
}

TEST_CASE("blocks_of_an_arena_never_overlap_and_are_joined_again") {
  support::Random random(11);
  Arena arena(100, 1000);
  std::map<std::uint32_t, std::uint32_t> taken;
  for (int i = 0; i < 20'000; ++i) {
    if (random.one_in(2)) {
      const auto units = static_cast<std::uint32_t>(random.size_up_to(200));
      if (const auto block = arena.take(units)) {
        const auto after = taken.lower_bound(*block);
        REQUIRE((after == taken.end() || after->first >= *block + units));
        REQUIRE((after == taken.begin() ||
                 std::prev(after)->first + std::prev(after)->second <= *block));
        REQUIRE((*block >= 100 && *block + units <= 1100));
        taken[*block] = units;
      }
    } else if (!taken.empty()) {
      const auto which = std::next(taken.begin(), static_cast<long>(random.below(taken.size())));
      arena.give_back(which->first);
      taken.erase(which);
    }
    if (i % 100 == 0) REQUIRE(arena.invariant());
  }
  for (const auto& [block, units] : taken) arena.give_back(block);
  CHECK(arena.free_units() == 1000);
  CHECK(arena.take(1000) == 100);
  CHECK(!arena.take(1));
}

namespace {

/// Entries of one unit in a list of their own.
struct Queue {
  explicit Queue(Replacement policy, std::size_t count)
      : entries(count), touched(kTouches), replacer(policy, entries, touched.data(), count) {
    for (std::size_t i = 0; i < count; ++i) {
      entries[i].name_hash = i + 1000;
      entries[i].units = 1;
    }
  }
  std::uint32_t evict() {
    const std::uint32_t victim = replacer.victim();
    if (victim != kNoEntry) replacer.remove(victim);
    return victim;
  }
  std::vector<Entry> entries;
  std::vector<std::uint8_t> touched;
  Replacer replacer;
};

}  // namespace

TEST_CASE("lru_evicts_what_was_not_asked_for_the_longest_here_or_by_neighbours") {
  Queue queue(Replacement::kLru, 5);
  for (std::uint32_t i = 0; i < 5; ++i) queue.replacer.insert(i);
  queue.replacer.hit(0);
  queue.touched[1] = 1;
  queue.entries[2].pins = 1;
  CHECK(queue.evict() == 3);
  CHECK(queue.evict() == 4);
  CHECK(queue.evict() == 0);
  CHECK(queue.evict() == 1);
  CHECK(queue.evict() == kNoEntry);
  queue.entries[2].pins = 0;
  CHECK(queue.evict() == 2);
}

TEST_CASE("s3_fifo_lets_a_scan_pass_and_keeps_what_comes_again") {
  Queue queue(Replacement::kS3Fifo, 20);
  for (std::uint32_t i = 0; i < 10; ++i) queue.replacer.insert(i);
  for (const std::uint32_t hot : {1, 2, 3}) {
    queue.replacer.hit(hot);
    queue.replacer.hit(hot);
  }
  queue.touched[4] = 1;
  queue.replacer.hit(4);
  // All that was asked for at most once leaves first, in its order.
  for (const std::uint32_t cold : {0, 5, 6, 7}) CHECK(queue.evict() == cold);
  // What left and comes back soon is not new.
  queue.replacer.insert(0);
  CHECK(queue.entries[0].in_main);
  // A scan passes through the small list.
  for (std::uint32_t i = 10; i < 20; ++i) {
    queue.replacer.insert(i);
    CHECK(queue.evict() >= 8);
  }
  std::set<std::uint32_t> left;
  for (std::uint32_t each; (each = queue.evict()) != kNoEntry;) left.insert(each);
  for (const std::uint32_t hot : {1, 2, 3, 4, 0}) CHECK(left.count(hot) == 1);
}

TEST_CASE("a_block_is_whole_only_with_both_numbers_the_name_and_the_bytes") {
  alignas(kUnit) std::byte memory[4 * kUnit]{};
  Block block(memory);
  const Name name = name_of("key", "variant");
  const std::vector<std::byte> body(300, std::byte{7});
  Attributes attributes;
  attributes.validator = "\"v\"";
  attributes.metadata = "metadata";
  const std::uint64_t bytes = Block::bytes_for(name, attributes, body.size());
  REQUIRE(bytes <= sizeof memory);
  block.write(name, attributes, body, 1);
  CHECK(block.is_sound(bytes));
  CHECK(!block.is_sound(bytes - 1));
  block.begin(99, 5);
  CHECK(block.is_whole(bytes, 99, name, true));
  CHECK(block.key() == "key");
  CHECK(block.variant() == "variant");
  CHECK(block.validator() == "\"v\"");
  CHECK(block.metadata() == "metadata");
  CHECK(block.body().size() == 300);
  CHECK(!block.is_whole(bytes, 98, name, false));
  CHECK(!block.is_whole(bytes, 0, name, false));
  CHECK(!block.is_whole(bytes - 8, 99, name, false));
  CHECK(!block.is_whole(bytes, 99, name_of("key", "other"), false));
  CHECK(!block.is_whole(bytes, 99, name_of("keyvariant", ""), false));
  // The hash of another name is right by chance.
  Name other = name_of("yek", "variant");
  other.hash = name.hash;
  CHECK(!block.is_whole(bytes, 99, other, false));
  for (const std::size_t at : {std::size_t{kSummedFrom}, std::size_t{kPayloadAt} + 100}) {
    memory[at] ^= std::byte{0x10};
    CHECK(!block.is_whole(bytes, 99, name, true));
    memory[at] ^= std::byte{0x10};
  }
  CHECK(block.is_whole(bytes, 99, name, true));
  // Lengths of a header that is not one.
  const std::byte kept = memory[kFieldsAt + offsetof(Fields, body_bytes) + 7];
  memory[kFieldsAt + offsetof(Fields, body_bytes) + 7] = std::byte{0xff};
  CHECK(!block.is_whole(bytes, 99, name, true));
  memory[kFieldsAt + offsetof(Fields, body_bytes) + 7] = kept;
  block.end();
  CHECK(!block.is_whole(bytes, 99, name, false));
}

TEST_CASE("whoever_reads_lines_in_order_while_the_block_is_used_again_gets_one_document_or_none") {
  constexpr std::size_t kBytes = 6 * kUnit;
  const Name name = name_of("key", "");
  const std::vector<std::byte> old_body(1000, std::byte{1});
  // Of another length too, so that its end lies elsewhere.
  for (const std::size_t new_bytes : {std::size_t{1000}, std::size_t{700}, std::size_t{1100}}) {
    const std::vector<std::byte> new_body(new_bytes, std::byte{2});
    // The owner takes its steps, each between two lines of the reader: from step `k` on at line
    // `second`, those before at line `first`.
    constexpr std::size_t kSteps = 4;
    for (std::size_t first = 0; first <= kBytes / kLine; ++first) {
      for (std::size_t second = first; second <= kBytes / kLine; ++second) {
        for (std::size_t k = 0; k <= kSteps; ++k) {
          alignas(kUnit) std::byte memory[kBytes]{};
          alignas(kUnit) std::byte seen[kBytes]{};
          Block owner(memory);
          owner.write(name, {}, old_body, 1);
          owner.begin(77, 0);
          const auto step = [&](std::size_t number) {
            if (number == 0) owner.end();
            if (number == 1) owner.clear_front();
            if (number == 2) owner.write(name, {}, new_body, 1);
            if (number == 3) owner.begin(99, 0);
          };
          for (std::size_t line = 0; line <= kBytes / kLine; ++line) {
            if (line == first) {
              for (std::size_t each = 0; each < k; ++each) step(each);
            }
            if (line == second) {
              for (std::size_t each = k; each < kSteps; ++each) step(each);
            }
            if (line < kBytes / kLine) {
              std::memcpy(seen + line * kLine, memory + line * kLine, kLine);
            }
          }
          std::uint64_t front = 0;
          std::memcpy(&front, seen + kFrontAt, sizeof front);
          const Block read(seen);
          if (!read.is_whole(kBytes, front, name, false)) continue;
          const auto body = read.body();
          const bool whole =
              std::ranges::equal(body, old_body) || std::ranges::equal(body, new_body);
          REQUIRE(whole);
        }
      }
    }
  }
}

TEST_CASE("the_block_of_what_leaves_is_not_whole_before_its_memory_is_used_again") {
  std::vector<std::byte> memory(80 * kUnit);
  std::vector<std::uint8_t> touched(kTouches);
  LocalCache cache(memory.data(), 64, 16, touched.data(), {});
  const Name name = name_of("key", "");
  Left left;
  const std::uint32_t entry = cache.reserve(8, Use::kDocument, left);
  Block block(cache.block(entry));
  block.write(name, {}, {}, 1);
  cache.insert(entry, name);
  REQUIRE(cache.begin(entry, 77));
  REQUIRE(cache.show(entry, name, left));
  REQUIRE(block.is_whole(8 * kUnit, 77, name, true));
  // It is held still: what is dropped is not whole all the same.
  cache.drop(entry, left);
  CHECK(!block.is_whole(8 * kUnit, 77, name, false));
  std::uint64_t front = 1;
  std::memcpy(&front, cache.block(entry) + kFrontAt, sizeof front);
  CHECK(front == 0);
  cache.unpin(entry);
}

TEST_CASE("a_copy_never_takes_the_memory_of_a_document_and_leaves_before_one") {
  std::vector<std::byte> memory(80 * kUnit);
  std::vector<std::uint8_t> touched(kTouches);
  LocalCache cache(memory.data(), 64, 16, touched.data(), {});
  const auto store = [&](const std::string& key, Use use) {
    Left left;
    const std::uint32_t entry = cache.reserve(8, use, left);
    if (entry == kNoEntry) return false;
    const Name name = name_of(key, "");
    Block(cache.block(entry)).write(name, {}, {}, 1);
    cache.insert(entry, name);
    const bool shown = cache.show(entry, name, left);
    cache.unpin(entry);
    return shown;
  };
  const auto has = [&](const std::string& key) {
    const std::uint32_t entry = cache.take(name_of(key, ""));
    if (entry != kNoEntry) cache.unpin(entry);
    return entry != kNoEntry;
  };
  for (int i = 0; i < 4; ++i) REQUIRE(store("d" + std::to_string(i), Use::kDocument));
  for (int i = 0; i < 6; ++i) REQUIRE(store("c" + std::to_string(i), Use::kCopy));
  for (int i = 0; i < 4; ++i) CHECK(has("d" + std::to_string(i)));
  CHECK((!has("c0") && !has("c1") && has("c5")));
  for (int i = 4; i < 8; ++i) REQUIRE(store("d" + std::to_string(i), Use::kDocument));
  CHECK(!has("c5"));
  CHECK(!store("c6", Use::kCopy));
  for (int i = 0; i < 8; ++i) CHECK(has("d" + std::to_string(i)));
  CHECK(cache.invariant());
}
