// SPDX-License-Identifier: MIT
// Finding Reporters, and asking one.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>

#include "dtutils/error.hpp"
#include "monitoring/reporter.hpp"
#include "reporter_address.hpp"

namespace monitoring {
namespace {

constexpr timeval kPatience{2, 0};
/// More than 65536 processes with full boards need.
constexpr std::size_t kMaxAnswer = std::size_t{1} << 30;

[[noreturn]] void refuse(std::uint64_t process, const char* happened, int code = 0) {
  throw dtutils::Error(fmt::format("process {}", process), happened,
                       "name a process of this user that has a monitoring::Reporter (--list)",
                       code);
}

/// A socket that is closed in the end.
struct Door {
  Door() : descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door() {
    if (descriptor >= 0) close(descriptor);
  }
  const int descriptor;
};

}  // namespace

std::vector<std::uint64_t> find_reporters() {
  std::vector<std::uint64_t> found;
  const std::string prefix = "@" + detail::reporter_prefix(geteuid());
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t at = line.find(prefix);
    // Only those that listen: what they have accepted has the same name.
    if (at == line.npos || line.find(" 00010000 ") == line.npos) continue;
    std::uint64_t process = 0;
    const char* const digits = line.data() + at + prefix.size();
    if (std::from_chars(digits, line.data() + line.size(), process).ec == std::errc()) {
      found.push_back(process);
    }
  }
  return found;
}

std::string ask_reporter(std::uint64_t process) {
  const Door door;
  if (door.descriptor < 0) refuse(process, "there is no descriptor for a socket", errno);
  setsockopt(door.descriptor, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  const detail::ReporterAddress address(geteuid(), process);
  if (connect(door.descriptor, address.raw(), address.length) != 0) {
    refuse(process, "it reports about no job", errno);
  }
  std::string text;
  std::array<char, 65536> part;
  for (;;) {
    const ssize_t got = recv(door.descriptor, part.data(), part.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(process, "it does not answer", errno);
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxAnswer) refuse(process, "its answer has no end");
  }
}

}  // namespace monitoring
