// SPDX-License-Identifier: MIT
// Secret: which texts and which files may be one.
#include "hosts/secret.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "dtutils/error.hpp"

namespace preload::hosts {
namespace {

/// Calls `use` with the transcript of a statement.
auto with_transcript(const Statement& statement, const auto& use) noexcept {
  const ProvedPayload payload{kVersion, statement.verdict, statement.connection};
  return use(dtutils::Transcript{"cariama-stream-broker", statement.process, statement.broker,
                                 std::as_bytes(std::span(&payload, 1))});
}

/// Throws when it is too short.
std::string_view checked(std::string_view text) {
  if (text.size() < kShortestSecret) {
    throw dtutils::Error("secret", "it is shorter than 16 bytes",
                         "make a long one, for example by: openssl rand -hex 32");
  }
  return text;
}

}  // namespace

Secret::Secret(std::string_view text) : secret_(checked(text)) {}

Proof Secret::prove(HandshakeRole role, const Statement& statement) const noexcept {
  return with_transcript(statement,
                         [&](const auto& transcript) { return secret_.prove(role, transcript); });
}

bool Secret::accepts(HandshakeRole role, const Statement& statement,
                     const Proof& proof) const noexcept {
  return with_transcript(
      statement, [&](const auto& transcript) { return secret_.accepts(role, transcript, proof); });
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
  explicit_bzero(bytes.data(), bytes.size());
  return secret;
}

}  // namespace preload::hosts
