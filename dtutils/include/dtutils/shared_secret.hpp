// SPDX-License-Identifier: MIT
// How two processes prove to each other that they know the same secret, which never travels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

/// Which side of a connection makes a proof: that of one is none of the other.
enum class HandshakeRole : std::uint32_t {
  kInitiator = 1,  ///< It connects.
  kResponder = 2,  ///< It accepts the connection.
};

/// What both sides of a handshake have said, and prove. Nothing of it is secret.
struct Transcript {
  /// Names the protocol: a proof in one is none in another one that has the same secret.
  std::string_view protocol;
  /// Of the side that connects. Each nonce makes the proof of the other side worthless elsewhere.
  Nonce initiator;
  Nonce responder;  ///< Of the side that accepts the connection.
  /// What else the side that proves has said, and the other side is to believe.
  std::span<const std::byte> payload;
};

/// A secret, as a key of libsodium's crypto_auth (HMAC-SHA-512-256). Who hears a proof may try
/// guesses against it, so a secret that can be guessed is none. Setup only.
class SharedSecret {
 public:
  /// From a text of any length. Throws as make_nonce.
  explicit SharedSecret(std::string_view text);

  /// Its proof over role, protocol, nonces and payload; a wire format, so raise the version of each
  /// protocol that has it with every change.
  Proof prove(HandshakeRole role, const Transcript& transcript) const noexcept;
  /// Whether that is the proof of the side which has this role. In a time that does not depend on
  /// where they differ. False also for another number of bytes than a proof has.
  bool accepts(HandshakeRole role, const Transcript& transcript,
               std::span<const std::byte> proof) const noexcept;

 private:
  std::array<unsigned char, 32> key_;
};

}  // namespace dtutils
