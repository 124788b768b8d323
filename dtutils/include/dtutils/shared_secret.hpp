// SPDX-License-Identifier: MIT
// How two processes prove to each other that they know the same secret, which never travels.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dtutils {

/// A random number that is used once.
using Nonce = std::array<std::byte, 32>;
/// Can be made only by who knows the secret, and says nothing about it.
using Proof = std::array<std::byte, 32>;

/// Throws Error when the system has no random bytes. Any thread.
Nonce make_nonce();
/// A new secret of 32 random bytes, in hexadecimal digits. Throws as make_nonce. Any thread.
std::string make_secret();

/// A secret, as a key of libsodium's crypto_auth (HMAC-SHA-512-256). Who hears a proof may try
/// guesses against it, so a secret that can be guessed is none. Setup only.
class SharedSecret {
 public:
  /// From a text of any length. Throws as make_nonce.
  explicit SharedSecret(std::string_view text);

  /// A statement should hold a nonce of each side, so that its proof is worthless in any other
  /// meeting, and which side makes it, so that it is none of the other side.
  Proof prove(std::span<const std::byte> statement) const noexcept;
  /// In a time that does not depend on where they differ. False also for another number of bytes
  /// than a proof has.
  bool accepts(std::span<const std::byte> statement,
               std::span<const std::byte> proof) const noexcept;

 private:
  std::array<unsigned char, 32> key_;
};

}  // namespace dtutils
