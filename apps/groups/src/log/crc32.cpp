// SPDX-License-Identifier: MIT
// CRC-32: folds of 64 bytes (Gopal et al., "Fast CRC Computation for Generic Polynomials Using
// PCLMULQDQ Instruction", Intel 2009), and zlib for the rest.
#include "log/crc32.hpp"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace groups::detail {
namespace {

std::uint32_t by_zlib(std::uint32_t before, const std::byte* bytes, std::size_t size) noexcept {
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes), size));
}

#if defined(__x86_64__)

/// Bytes that are folded at once, 16 in each register.
constexpr std::size_t kFold = 64;

bool has_multiplication() noexcept {
  static const bool has = __builtin_cpu_supports("pclmul") != 0;
  return has;
}

__attribute__((target("pclmul"))) inline __m128i shifted(__m128i value, __m128i by) noexcept {
  return _mm_xor_si128(_mm_clmulepi64_si128(value, by, 0x00),
                       _mm_clmulepi64_si128(value, by, 0x11));
}

inline __m128i load(const std::byte* bytes) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

/// Of a multiple of kFold bytes. Bytes that are replaced by their remainder, so many places later,
/// leave the sum as it is; what is left in the end are 16 bytes.
__attribute__((target("pclmul"))) std::uint32_t by_folds(std::uint32_t before,
                                                         const std::byte* bytes,
                                                         std::size_t size) noexcept {
  // x^(n + 32) and x^(n - 32) modulo the polynomial, reflected, for n = 512 and n = 128 bits.
  const __m128i by_512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i by_128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i sums[4];
  for (std::size_t i = 0; i < 4; ++i) sums[i] = load(bytes + 16 * i);
  sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128(static_cast<int>(~before)));
  for (std::size_t at = kFold; at != size; at += kFold) {
    for (std::size_t i = 0; i < 4; ++i) {
      sums[i] = _mm_xor_si128(shifted(sums[i], by_512), load(bytes + at + 16 * i));
    }
  }
  __m128i sum = sums[0];
  for (std::size_t i = 1; i < 4; ++i) sum = _mm_xor_si128(shifted(sum, by_128), sums[i]);
  alignas(16) std::byte left[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(left), sum);
  // A register of zeros is what zlib calls this.
  return by_zlib(~std::uint32_t{0}, left, sizeof left);
}

#endif

}  // namespace

std::uint32_t extend_crc32(std::uint32_t before, std::span<const std::byte> bytes) noexcept {
  // Of no address, crc32_z answers its initial value.
  if (bytes.empty()) return before;
#if defined(__x86_64__)
  if (bytes.size() >= kFold && has_multiplication()) {
    const std::size_t folded = bytes.size() / kFold * kFold;
    before = by_folds(before, bytes.data(), folded);
    bytes = bytes.subspan(folded);
    if (bytes.empty()) return before;
  }
#endif
  return by_zlib(before, bytes.data(), bytes.size());
}

}  // namespace groups::detail
