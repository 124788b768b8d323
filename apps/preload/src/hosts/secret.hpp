// SPDX-License-Identifier: MIT
// How a process and the broker of another host prove to each other that they know the secret.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "hosts/wire.hpp"

namespace preload::hosts {

/// A secret has so many bytes at least: who hears a proof may try guesses against it.
inline constexpr std::size_t kShortestSecret = 16;

/// Throws dtutils::Error when the system has no random bytes.
Nonce make_nonce();

/// The secret as a key of libsodium's crypto_auth (HMAC-SHA-512-256). It never travels. Any thread.
class Secret {
 public:
  /// Throws dtutils::Error: the text is shorter than kShortestSecret.
  explicit Secret(std::string_view text);

  Proof prove(const Statement& statement) const noexcept;
  /// In a time that does not depend on where they differ.
  bool accepts(const Statement& statement, const Proof& proof) const noexcept;

 private:
  std::array<unsigned char, 32> key_;
};

/// From the first line of the file. Throws dtutils::Error: it cannot be read, it belongs to another
/// user, others may read it, the secret is too short.
Secret read_secret(const std::string& file);

}  // namespace preload::hosts
