// SPDX-License-Identifier: MIT
// The shm device's copies: every byte, in ascending order where promised, aligned words whole.
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "dtutils/device_memory.hpp"
#include "software/copy.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using namespace dtutils;
using namespace dtutils::software;

namespace {

constexpr std::size_t kRoom = 1024;
constexpr std::size_t kLine = 64;

struct alignas(kLine) Buffer {
  std::array<std::byte, kRoom> bytes{};
};

enum class Kind { kAscending, kShuffled, kShuffledWithPauses };

/// What a shuffled copy draws its order from. The bits above the lowest 8 say before which piece it
/// pauses: here before none, or before one of the first.
std::uint64_t random_for(Kind kind, std::size_t to_at, std::size_t length) {
  const std::uint64_t order = to_at * 31 + length;
  if (kind == Kind::kShuffledWithPauses) return order;
  const std::uint64_t most_pieces = length / kLine + 2;
  return most_pieces << 8 | (order & 255);
}

/// One copy of `length` bytes between guards; true when it did that and no more.
bool copies(std::size_t to_at, std::size_t from_at, std::size_t length, Kind kind) {
  static Buffer from;
  Buffer to;
  for (std::size_t i = 0; i < kRoom; ++i) from.bytes[i] = std::byte(1 + i % 255);
  std::byte* target = to.bytes.data() + to_at;
  const std::byte* source = from.bytes.data() + from_at;
  if (kind == Kind::kAscending) {
    place_bytes(target, source, length);
  } else {
    place_bytes_shuffled(target, source, length, random_for(kind, to_at, length));
  }
  if (std::memcmp(target, source, length) != 0) return false;
  for (std::size_t i = 0; i < kRoom; ++i) {
    if ((i < to_at || i >= to_at + length) && to.bytes[i] != std::byte{0}) return false;
  }
  return true;
}

/// Writes generation after generation to `to` while `check` looks on from another thread; false
/// when it ever disagreed.
template <class Write, class Check>
bool agree_all_the_time(Write write, Check check) {
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t generation = 1; !stop.load(); ++generation) write(generation);
  });
  bool agreed = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
  while (agreed && std::chrono::steady_clock::now() < end) {
    for (int i = 0; agreed && i < 100; ++i) agreed = check();
  }
  stop.store(true);
  writer.join();
  return agreed;
}

template <class Word>
bool is_whole(const std::byte* at) {
  const Word word = load_device_word(reinterpret_cast<const Word*>(at));
  std::array<std::byte, sizeof word> bytes;
  std::memcpy(bytes.data(), &word, sizeof word);
  for (const std::byte byte : bytes) {
    if (byte != bytes[0]) return false;
  }
  return true;
}

/// Looks at every aligned word of this size inside [begin, begin + length).
template <class Word>
bool words_are_whole(const Buffer& buffer, std::size_t begin, std::size_t length) {
  std::size_t at = (begin + sizeof(Word) - 1) / sizeof(Word) * sizeof(Word);
  for (; at + sizeof(Word) <= begin + length; at += sizeof(Word)) {
    if (!is_whole<Word>(buffer.bytes.data() + at)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("shm_copy_moves_every_byte_and_no_other") {
  const bool shuffled = GENERATE(false, true);
  CAPTURE(shuffled);
  for (std::size_t to_at = 0; to_at < kLine; ++to_at) {
    for (std::size_t from_at = 0; from_at < 16; from_at += 3) {
      for (std::size_t length = 0; length <= 900; length += 1 + length / 40) {
        // A pause gives the core away, for as long as other programs want it: only some of them.
        const Kind kind = !shuffled                   ? Kind::kAscending
                          : to_at % 16 + from_at == 0 ? Kind::kShuffledWithPauses
                                                      : Kind::kShuffled;
        if (copies(to_at, from_at, length, kind)) continue;
        CAPTURE(to_at, from_at, length);
        FAIL("the target differs");
      }
    }
  }
  CHECK(copies(3, 5, kRoom - 8, shuffled ? Kind::kShuffledWithPauses : Kind::kAscending));
}

TEST_CASE("shm_copy_of_much_more_than_one_shuffled_group_is_complete") {
  std::vector<std::byte> from(100'003);
  std::vector<std::byte> to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::byte(i * 7 + i / 256);
  place_bytes_shuffled(to.data(), from.data(), from.size(), 5);
  CHECK(to == from);
}

TEST_CASE("lines_are_fetched_for_writing_wherever_they_are") {
  Buffer buffer;
  buffer.bytes[0] = std::byte{7};
  fetch_for_writing(reinterpret_cast<std::uintptr_t>(buffer.bytes.data()));
  CHECK(buffer.bytes[0] == std::byte{7});
  // Nobody's memory, and no address at all: no fault.
  fetch_for_writing(0);
  fetch_for_writing(std::uintptr_t{1} << 63);
}

TEST_CASE("shm_copy_appears_in_ascending_order") {
  const std::size_t first = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3},
                                     std::size_t{5}, std::size_t{7});
  const std::size_t words = GENERATE(std::size_t{2}, std::size_t{9}, std::size_t{100});
  CAPTURE(first, words);
  alignas(kLine) static std::array<std::uint64_t, 128> target;
  target.fill(0);
  std::uint64_t* to = target.data() + first;
  support::Random random(1);
  const bool agreed = agree_all_the_time(
      [&](std::uint64_t generation) {
        std::array<std::uint64_t, 128> from;
        from.fill(generation);
        place_bytes(to, from.data(), words * sizeof(std::uint64_t));
      },
      [&] {
        const std::size_t later = 1 + random.below(words - 1);
        const std::uint64_t seen = load_device_word(to + later);
        return load_device_word(to + random.below(later)) >= seen;
      });
  CHECK(agreed);
}

TEST_CASE("shm_copy_keeps_aligned_words_whole") {
  const bool shuffled = GENERATE(false, true);
  const std::size_t begin =
      GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{6}, std::size_t{12}, std::size_t{60});
  const std::size_t length = GENERATE(std::size_t{23}, std::size_t{200});
  CAPTURE(shuffled, begin, length);
  static Buffer target;
  target.bytes.fill(std::byte{0});
  const bool agreed = agree_all_the_time(
      [&](std::uint64_t generation) {
        std::array<std::byte, kRoom> from;
        from.fill(std::byte(generation));
        if (shuffled) {
          place_bytes_shuffled(target.bytes.data() + begin, from.data(), length, generation);
        } else {
          place_bytes(target.bytes.data() + begin, from.data(), length);
        }
      },
      [&] {
        return words_are_whole<std::uint16_t>(target, begin, length) &&
               words_are_whole<std::uint32_t>(target, begin, length) &&
               words_are_whole<std::uint64_t>(target, begin, length);
      });
  CHECK(agreed);
}
