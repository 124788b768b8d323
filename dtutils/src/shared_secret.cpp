// SPDX-License-Identifier: MIT
// SharedSecret: libsodium does what matters.
#include "dtutils/shared_secret.hpp"

#include <sodium.h>

#include <bit>
#include <cstdint>

#include "dtutils/error.hpp"

namespace dtutils {
namespace {

static_assert(crypto_auth_hmacsha512256_KEYBYTES == 32 &&
              crypto_auth_hmacsha512256_BYTES == sizeof(Proof));
// The numbers of a transcript are little-endian on the wire.
static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kSecretSize = 32;

void prepare_libsodium() {
  static const int prepared = sodium_init();
  if (prepared < 0) {
    throw Error("secret", "libsodium finds no random bytes in this system",
                "check that the system call getrandom or /dev/urandom works");
  }
}

const unsigned char* octets(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

Nonce make_nonce() {
  prepare_libsodium();
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

std::string make_secret() {
  prepare_libsodium();
  std::array<unsigned char, kSecretSize> bytes;
  randombytes_buf(bytes.data(), bytes.size());
  std::string text(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

SharedSecret::SharedSecret(std::string_view text) {
  prepare_libsodium();
  // A key of the right length from a text of any length.
  crypto_generichash(key_.data(), key_.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
}

Proof SharedSecret::prove(HandshakeRole role, const Transcript& transcript) const noexcept {
  // What has no fixed size has it before itself, or is the last.
  const auto protocol = std::as_bytes(std::span(transcript.protocol));
  const auto code = static_cast<std::uint32_t>(role);
  const auto size = static_cast<std::uint32_t>(protocol.size());
  crypto_auth_hmacsha512256_state state;
  crypto_auth_hmacsha512256_init(&state, key_.data(), key_.size());
  for (const std::span<const std::byte> part :
       {std::as_bytes(std::span(&code, 1)), std::as_bytes(std::span(&size, 1)), protocol,
        std::span<const std::byte>(transcript.initiator),
        std::span<const std::byte>(transcript.responder), transcript.payload}) {
    crypto_auth_hmacsha512256_update(&state, octets(part), part.size());
  }
  Proof proof;
  crypto_auth_hmacsha512256_final(&state, reinterpret_cast<unsigned char*>(proof.data()));
  return proof;
}

bool SharedSecret::accepts(HandshakeRole role, const Transcript& transcript,
                           std::span<const std::byte> proof) const noexcept {
  const Proof right = prove(role, transcript);
  return proof.size() == right.size() &&
         sodium_memcmp(right.data(), proof.data(), right.size()) == 0;
}

}  // namespace dtutils
