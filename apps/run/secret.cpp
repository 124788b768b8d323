// SPDX-License-Identifier: MIT
// Writing and reading the secret.
#include "secret.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "dsfabric/rendezvous_server.hpp"
#include "dtutils/error.hpp"
#include "output.hpp"

namespace run {
namespace {

[[noreturn]] void refuse_secret(const std::string& what, int code) {
  throw dtutils::Error("--secret-file", what,
                       "name a file in a folder that you may write to, or "
                       "the one that --elastic has written",
                       code);
}

}  // namespace

void write_secret(const std::string& file, const std::string& secret) {
  // Made anew, so that its mode is that of a new file.
  unlink(file.c_str());
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) refuse_secret(fmt::format("cannot write {}", file), errno);
  write_all(fd, secret + "\n");
  close(fd);
}

std::string read_secret(const std::string& file) {
  std::string secret;
  if (file.empty()) {
    const char* const known = std::getenv(dsfabric::RendezvousServer::kSecretVariable);
    if (known == nullptr) refuse_secret("--join needs the secret of the job", 0);
    return known;
  }
  std::ifstream from(file);
  if (!std::getline(from, secret)) refuse_secret(fmt::format("cannot read {}", file), errno);
  return secret;
}

}  // namespace run
