// SPDX-License-Identifier: MIT
// The device's copy engine: ascending stores, the widest that this CPU has.
#include "software/copy.hpp"

#include <thread>

#include "dtutils/device_memory.hpp"
#include "dtutils/limits.hpp"
#include "software/shuffle.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_release(void* address);
#endif

namespace dtutils::software {
namespace {

// A compiler barrier after each store keeps the stores ascending; the hardware (x86: total store
// order) does the rest. Elsewhere a release store of each word does both.
template <class Word>
__attribute__((no_sanitize("thread"), always_inline)) inline void move_one(std::byte*& to,
                                                                           const std::byte*& from,
                                                                           std::size_t& length) {
  Word word;
  __builtin_memcpy(&word, from, sizeof word);
  __atomic_store_n(reinterpret_cast<Word*>(to), word, __ATOMIC_RELEASE);
  asm volatile("" ::: "memory");
  to += sizeof word;
  from += sizeof word;
  length -= sizeof word;
}

__attribute__((no_sanitize("thread"))) void move_words(std::byte* to, const std::byte* from,
                                                       std::size_t length) {
  while (length >= 8) move_one<std::uint64_t>(to, from, length);
  if (length >= 4) move_one<std::uint32_t>(to, from, length);
  if (length >= 2) move_one<std::uint16_t>(to, from, length);
  if (length >= 1) move_one<std::uint8_t>(to, from, length);
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
__attribute__((target("avx2"), always_inline)) inline void move_block_avx2(std::byte* to,
                                                                           const std::byte* from) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  // The loads are ascending too: a READ that is in order copies in order.
  asm volatile("" ::: "memory");
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), low);
  asm volatile("" ::: "memory");
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32), high);
  asm volatile("" ::: "memory");
}

/// Blocks of 64 bytes, whose lines are asked for so many blocks ahead: stores wait for the lines
/// that the peer has read, and without this for fewer of them at once. (aggregated_vs_ring at 8 /
/// 64 / 256 bytes, on cores with a round trip of 250 to 300 ns: 270 / 65 / 18 to 340 / 81 / 19 M
/// calls a second.) Not beyond the end, where lines are none of our business.
constexpr std::size_t kBlocksAhead = 8;

__attribute__((target("avx2"))) void move_blocks_avx2(std::byte* to, const std::byte* from,
                                                      std::size_t blocks) {
  for (; blocks > kBlocksAhead; --blocks, to += 64, from += 64) {
    fetch_for_writing(reinterpret_cast<std::uintptr_t>(to + kBlocksAhead * 64));
    move_block_avx2(to, from);
  }
  for (; blocks != 0; --blocks, to += 64, from += 64) move_block_avx2(to, from);
}

void move_blocks_sse2(std::byte* to, const std::byte* from, std::size_t blocks) {
  for (blocks *= 4; blocks != 0; --blocks, to += 16, from += 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    asm volatile("" ::: "memory");
  }
}

const bool kHasAvx2 = __builtin_cpu_supports("avx2");

void move_blocks(std::byte* to, const std::byte* from, std::size_t blocks) {
  kHasAvx2 ? move_blocks_avx2(to, from, blocks) : move_blocks_sse2(to, from, blocks);
}
#else
void move_blocks(std::byte* to, const std::byte* from, std::size_t blocks) {
  move_words(to, from, blocks * 64);
}
#endif

// Bytes up to the next 8-byte boundary of the target, so that later stores hold whole words.
__attribute__((no_sanitize("thread"))) void move_head(std::byte*& to, const std::byte*& from,
                                                      std::size_t& length) {
  const auto odd = [&](std::uintptr_t bit) {
    return (reinterpret_cast<std::uintptr_t>(to) & bit) != 0 && length >= bit;
  };
  if (odd(1)) move_one<std::uint8_t>(to, from, length);
  if (odd(2)) move_one<std::uint16_t>(to, from, length);
  if (odd(4)) move_one<std::uint32_t>(to, from, length);
}

// The thread sanitizer does not see the copy, as it does not see a DMA; each line that arrived is
// announced, for load_device_word to pair with.
void announce([[maybe_unused]] void* to, [[maybe_unused]] std::size_t length) {
#if defined(__SANITIZE_THREAD__)
  for (std::size_t at = 0; at < length; at += 8) __tsan_release(static_cast<std::byte*>(to) + at);
#endif
}

}  // namespace

__attribute__((no_sanitize("thread"))) void place_bytes(void* target, const void* source,
                                                        std::size_t length) noexcept {
  announce(target, length);
  auto* to = static_cast<std::byte*>(target);
  auto* from = static_cast<const std::byte*>(source);
  if ((reinterpret_cast<std::uintptr_t>(to) & 7) != 0) move_head(to, from, length);
  if (length >= 64) {
    // A store that crosses a cache line may arrive in two parts in either order. One that does not
    // arrives whole: x86 promises it up to 16 bytes, and all that have 32-byte stores keep it.
    while ((reinterpret_cast<std::uintptr_t>(to) & 31) != 0) {
      move_one<std::uint64_t>(to, from, length);
    }
    const std::size_t blocks = length / 64;
    move_blocks(to, from, blocks);
    to += blocks * 64;
    from += blocks * 64;
    length -= blocks * 64;
  }
  move_words(to, from, length);
}

void place_bytes_shuffled(void* target, const void* source, std::size_t length,
                          std::uint64_t random) noexcept {
  auto* to = static_cast<std::byte*>(target);
  auto* from = static_cast<const std::byte*>(source);
  // One copy in four pauses halfway, or a reader would hardly ever meet it unfinished.
  constexpr std::uint64_t kEach = 4;
  std::uint64_t pieces_until_pause = (random >> 8) % (kEach * (length / kCacheLine + 1));
  for_each_piece_shuffled(reinterpret_cast<std::uintptr_t>(target), length, kCacheLine, random,
                          [&](std::size_t begin, std::size_t part) {
                            place_bytes(to + begin, from + begin, part);
                            if (pieces_until_pause-- == 0) std::this_thread::yield();
                          });
}

}  // namespace dtutils::software
