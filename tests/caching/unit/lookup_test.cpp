// SPDX-License-Identifier: MIT
// What a look-up uses: hashes of names, hints, and blocks that documents pass through.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hints.hpp"
#include "local_cache.hpp"
#include "support/catch.hpp"

using namespace caching;
using namespace caching::detail;

TEST_CASE("spares_have_one_holder_each_and_their_memory_when_nothing_else_is_left") {
  std::vector<std::byte> memory(80 * kUnit);
  std::vector<std::uint8_t> touched(kTouches);
  LocalCache cache(memory.data(), 64, 16, touched.data(), {});
  Left left;
  const auto pass = [&](std::uint64_t units) {
    const std::uint32_t spare = cache.reserve_spare(units);
    return spare != kNoEntry ? spare : cache.reserve(units, Use::kPass, left);
  };
  CHECK(cache.reserve_spare(4) == kNoEntry);
  const std::uint32_t first = pass(4);
  const std::uint32_t second = pass(4);
  REQUIRE((first != kNoEntry && second != kNoEntry && cache.passes(first)));
  CHECK(cache.block(first) != cache.block(second));
  cache.unpin(first);
  cache.unpin(second);
  CHECK(cache.reserve_spare(5) == kNoEntry);
  CHECK(cache.reserve_spare(4) == first);
  CHECK(cache.reserve_spare(4) == kNoEntry);
  cache.unpin(first);
  // A document is no spare, and nothing that passes leads others to its block.
  const std::uint32_t document = cache.reserve(4, Use::kDocument, left);
  CHECK(!cache.passes(document));
  cache.unpin(document);
  CHECK(cache.block(cache.reserve_spare(4)) != cache.block(document));
  cache.unpin(first);
  // Spares of several sizes take the memory, until another size needs it.
  for (const std::uint64_t units : {1, 2, 3}) cache.unpin(pass(units));
  const std::uint32_t all = pass(16);
  REQUIRE(all != kNoEntry);
  CHECK(cache.passes(all));
  cache.unpin(all);
  CHECK(cache.invariant());
}

TEST_CASE("hints_are_of_one_name_and_count_its_reads") {
  Hints hints(1);
  const auto word = [](std::uint64_t hash) { return Word::of(hash, 1, 5, 7); };
  const std::uint64_t a = 0x1111'0000'0000'0001, b = 0x2222'0000'0000'0002;
  CHECK(!hints.find(a).word);
  CHECK(hints.count_read(a) == 0);
  hints.set(a, {word(a), 1000});
  CHECK((hints.find(a).word == word(a) && hints.find(a).bytes == 1000));
  CHECK((hints.count_read(a) == 0 && hints.count_read(a) == 1));
  hints.set(a, {});
  CHECK(!hints.find(a).word);
  CHECK(hints.count_read(a) == 2);
  hints.set(b, {word(b), 0});
  CHECK((!hints.find(a).word && hints.find(b).word == word(b)));
  CHECK((hints.count_read(a) == 0 && hints.count_read(b) == 0));
}

TEST_CASE("names_that_differ_in_any_byte_or_in_length_have_other_hashes") {
  std::set<std::uint64_t> hashes;
  std::set<std::pair<std::string, std::string>> names;
  const auto add = [&](const std::string& key, const std::string& variant) {
    names.insert({key, variant});
    hashes.insert(name_of(key, variant).hash);
  };
  for (const std::size_t bytes : {0, 1, 7, 8, 9, 40, 255, 256, 257, 1000}) {
    add(std::string(bytes, 'a'), "");
    add(std::string(bytes, 'a'), "b");
    add(std::string(bytes, '\0') + "c", "");
    for (std::size_t at = 0; at < bytes; at += 1 + bytes / 50) {
      std::string key(bytes, 'a');
      for (unsigned bit = 0; bit < 8; ++bit) {
        key[at] = static_cast<char>('a' ^ (1 << bit));
        add(key, "");
      }
    }
  }
  CHECK(hashes.size() == names.size());
  // Each part of a hash chooses something: 64 names on 16 places leave few of them empty.
  for (const unsigned shift : {0u, 20u, 48u, 60u}) {
    std::set<std::uint64_t> places;
    for (int i = 0; i < 64; ++i) {
      places.insert(name_of("/document/" + std::to_string(i), "").hash >> shift & 15);
    }
    CAPTURE(shift);
    CHECK(places.size() >= 12);
  }
}
