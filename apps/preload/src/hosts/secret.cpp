// SPDX-License-Identifier: MIT
// Secret: libsodium does what matters.
#include "hosts/secret.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "dtutils/error.hpp"

namespace preload::hosts {
namespace {

static_assert(crypto_auth_KEYBYTES == 32 && crypto_auth_BYTES == sizeof(Proof));

void prepare() {
  static const int prepared = sodium_init();
  if (prepared < 0) {
    throw dtutils::Error("secret", "libsodium finds no random bytes in this system",
                         "check that the system call getrandom or /dev/urandom works");
  }
}

const unsigned char* octets(const Statement& statement) noexcept {
  return reinterpret_cast<const unsigned char*>(&statement);
}

}  // namespace

Nonce make_nonce() {
  prepare();
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

Secret::Secret(std::string_view text) {
  if (text.size() < kShortestSecret) {
    throw dtutils::Error("secret", "it is shorter than 16 bytes",
                         "make a long one, for example by: openssl rand -hex 32");
  }
  prepare();
  // A key of the right length from a text of any length.
  crypto_generichash(key_.data(), key_.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
}

Proof Secret::prove(const Statement& statement) const noexcept {
  Proof proof;
  crypto_auth(proof.data(), octets(statement), sizeof statement, key_.data());
  return proof;
}

bool Secret::accepts(const Statement& statement, const Proof& proof) const noexcept {
  return crypto_auth_verify(proof.data(), octets(statement), sizeof statement, key_.data()) == 0;
}

Secret read_secret(const std::string& file) {
  const std::string object = "secret file " + file;
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) throw dtutils::Error(object, "it cannot be read", "name one that can", errno);
  struct stat found {};
  std::array<char, 4096> bytes;
  const bool known = fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
  const ssize_t size = known ? read(fd, bytes.data(), bytes.size()) : -1;
  close(fd);
  if (size < 0) throw dtutils::Error(object, "it is no file that can be read", "name another one");
  if (found.st_uid != geteuid() || (found.st_mode & 077) != 0) {
    throw dtutils::Error(object, "it belongs to another user, or others may read it",
                         "make it yours alone: chown and chmod 600");
  }
  const std::string_view text(bytes.data(), static_cast<std::size_t>(size));
  const Secret secret(text.substr(0, text.find('\n')));
  sodium_memzero(bytes.data(), bytes.size());
  return secret;
}

}  // namespace preload::hosts
