// SPDX-License-Identifier: MIT
// How a process and the launcher prove to each other that they know the job
// secret.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dsfabric::rendezvous {

/// A random number that is used once.
using Nonce = std::array<std::byte, 32>;
/// Can be made only by who knows the secret, and says nothing about it.
using Proof = std::array<std::byte, 32>;

/// Throws Error when the system has no random bytes.
Nonce make_nonce();
/// A new job secret, in hexadecimal digits. Throws as make_nonce.
std::string make_secret();

/// What one greeting is about. The nonce of the launcher makes it worthless in
/// any other one, and that of the process makes the launcher's answer worthless
/// in any other one.
struct Greeting {
  Nonce launcher;
  Nonce process;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::string_view build;
};

/// Who proves it: the proof of one side is none of the other.
enum class Side : std::uint8_t { kProcess = 1, kLauncher = 2 };

/// The job secret, as a key of libsodium's crypto_auth (HMAC-SHA-512-256). The
/// secret itself never travels on the connection. Setup only.
class Secret {
 public:
  explicit Secret(std::string_view text);

  Proof prove(Side side, const Greeting& greeting) const;
  /// In a time that does not depend on where they differ. False also for
  /// another number of bytes.
  bool accepts(Side side, const Greeting& greeting,
               std::span<const std::byte> proof) const noexcept;

 private:
  std::array<unsigned char, 32> key_;
};

}  // namespace dsfabric::rendezvous
