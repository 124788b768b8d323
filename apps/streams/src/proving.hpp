// SPDX-License-Identifier: MIT
// Wire format: how the two sides of a new stream prove that they know the same secret.
#pragma once

#include <cstdint>
#include <type_traits>

#include "dtutils/shared_secret.hpp"

namespace streams {

///     connects                  accepts
///        |  <--- Hello ------------  |
///        |  ---- Hello, Proof ---->  |
///        |  <--- Proof ------------  |   and then their Introductions
///
///   byte  0       8         12         16      48
///         | magic | version | reserved | nonce |
struct Hello {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t reserved;
  dtutils::Nonce nonce;
};
static_assert(sizeof(Hello) == 48 && std::is_trivially_copyable_v<Hello>);

/// What the side that connects says before it is believed.
struct Claim {
  Hello hello;
  dtutils::Proof proof;
};
static_assert(sizeof(Claim) == 80 && std::is_trivially_copyable_v<Claim>);

inline constexpr std::uint64_t kHelloMagic = 0x6f6c6c6574732d63;
inline constexpr std::uint32_t kHelloVersion = 2;

inline Hello make_hello() { return {kHelloMagic, kHelloVersion, 0, dtutils::make_nonce()}; }

constexpr bool valid(const Hello& hello) noexcept {
  return hello.magic == kHelloMagic && hello.version == kHelloVersion;
}

/// What both sides prove: their nonces.
inline dtutils::Transcript transcript_of(const dtutils::Nonce& connects,
                                         const dtutils::Nonce& accepts) noexcept {
  return {"cariama-stream", connects, accepts, {}};
}

}  // namespace streams
