// SPDX-License-Identifier: MIT
// SharedSecret: libsodium does what matters.
#include "dtutils/shared_secret.hpp"

#include <sodium.h>

#include "dtutils/error.hpp"

namespace dtutils {
namespace {

static_assert(crypto_auth_KEYBYTES == 32 && crypto_auth_BYTES == sizeof(Proof));

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

Proof SharedSecret::prove(std::span<const std::byte> statement) const noexcept {
  Proof proof;
  crypto_auth(reinterpret_cast<unsigned char*>(proof.data()), octets(statement), statement.size(),
              key_.data());
  return proof;
}

bool SharedSecret::accepts(std::span<const std::byte> statement,
                           std::span<const std::byte> proof) const noexcept {
  return proof.size() == sizeof(Proof) &&
         crypto_auth_verify(octets(proof), octets(statement), statement.size(), key_.data()) == 0;
}

}  // namespace dtutils
