// SPDX-License-Identifier: MIT
// Sizes, memory, replacement, blocks and the index, each by itself.
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
    cache.insert(entry, name, left);
    const bool shown = cache.show(entry);
    cache.unpin(entry);
    return shown;
  };
  const auto has = [&](const std::string& key) {
    Hint hint;
    const std::uint32_t entry = cache.take(name_of(key, ""), hint);
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
