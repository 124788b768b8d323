// SPDX-License-Identifier: MIT
// Secret: libsodium does what matters.
#include "bootstrap/proof.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "bootstrap/frame.hpp"
#include "dtutils/error.hpp"

namespace dsfabric::rendezvous {
namespace {

static_assert(crypto_auth_KEYBYTES == 32 && crypto_auth_BYTES == sizeof(Proof));

void prepare() {
  static const int prepared = sodium_init();
  if (prepared < 0) {
    throw dtutils::Error("rendezvous", "libsodium finds no random bytes in this system",
                         "check that the system call getrandom or /dev/urandom works");
  }
}

unsigned char* octets(std::byte* bytes) noexcept { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* octets(const std::byte* bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes);
}

Bytes message(Side side, const Greeting& greeting) {
  return Writer()
      .u32(kProtocol)
      .u32(static_cast<std::uint32_t>(side))
      .bytes(greeting.launcher)
      .bytes(greeting.process)
      .u32(greeting.rank)
      .u32(greeting.size)
      .text(greeting.build)
      .take();
}

}  // namespace

Nonce make_nonce() {
  prepare();
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

std::string make_secret() {
  prepare();
  std::array<unsigned char, kSecretSize> bytes;
  randombytes_buf(bytes.data(), bytes.size());
  std::string text(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

Secret::Secret(std::string_view text) {
  prepare();
  // A key of the right length from a text of any length.
  crypto_generichash(key_.data(), key_.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
}

Proof Secret::prove(Side side, const Greeting& greeting) const {
  const Bytes bytes = message(side, greeting);
  Proof proof;
  crypto_auth(octets(proof.data()), octets(bytes.data()), bytes.size(), key_.data());
  return proof;
}

bool Secret::accepts(Side side, const Greeting& greeting,
                     std::span<const std::byte> proof) const noexcept {
  if (proof.size() != sizeof(Proof)) return false;
  const Bytes bytes = message(side, greeting);
  return crypto_auth_verify(octets(proof.data()), octets(bytes.data()), bytes.size(),
                            key_.data()) == 0;
}

}  // namespace dsfabric::rendezvous
