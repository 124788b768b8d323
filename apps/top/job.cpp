// SPDX-License-Identifier: MIT
// Asking a Reporter, and reading its lines.
#include "job.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

#include "dtutils/error.hpp"
#include "monitoring/reporter.hpp"

namespace top {
namespace {

constexpr timeval kPatience{2, 0};
/// More than 65536 processes with full boards need.
constexpr std::size_t kMaxAnswer = std::size_t{1} << 30;

[[noreturn]] void refuse(std::uint64_t pid, const char* happened, int code = 0) {
  throw dtutils::Error(fmt::format("process {}", pid), happened,
                       "name a process of this user that has a monitoring::Reporter (--list)",
                       code);
}

std::string fetch(std::uint64_t pid) {
  const int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (door < 0) refuse(pid, "there is no descriptor for a socket", errno);
  struct Close {
    int descriptor;
    ~Close() { close(descriptor); }
  } const closes{door};
  setsockopt(door, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = monitoring::reporter_name(geteuid(), static_cast<unsigned>(pid));
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (connect(door, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    refuse(pid, "it reports about no job", errno);
  }
  std::string text;
  std::array<char, 65536> part;
  for (;;) {
    const ssize_t got = recv(door, part.data(), part.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(pid, "it does not answer", errno);
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxAnswer) refuse(pid, "its answer has no end");
  }
}

}  // namespace

std::vector<std::uint64_t> find_reporters() {
  std::vector<std::uint64_t> found;
  const std::string prefix = fmt::format("@cariama-top.{}.", geteuid());
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t at = line.find(prefix);
    // Only those that listen: what they have accepted has the same name.
    if (at == line.npos || line.find(" 00010000 ") == line.npos) continue;
    std::uint64_t pid = 0;
    const char* const digits = line.data() + at + prefix.size();
    if (std::from_chars(digits, line.data() + line.size(), pid).ec == std::errc()) {
      found.push_back(pid);
    }
  }
  return found;
}

Job ask(std::uint64_t pid) {
  std::istringstream text(fetch(pid));
  Job job{{}, std::chrono::steady_clock::now()};
  bool ended = false;
  for (std::string line; !ended && std::getline(text, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "process") {
      Process& process = job.processes.emplace_back();
      words >> process.number >> process.pid >> process.machine >> process.host >> std::ws;
      std::getline(words, process.state);
    } else if (what == "counter" && !job.processes.empty()) {
      Figure& figure = job.processes.back().figures.emplace_back();
      std::string kind;
      words >> figure.name >> kind >> figure.value;
      if (!words) refuse(pid, "it answers something else");
      figure.level = kind == "level";
      words >> figure.unit;
    } else if (what == "end") {
      ended = true;
    } else if (what == "error") {
      throw dtutils::Error(fmt::format("process {}", pid), line, "look at its own output");
    } else if (what != "job") {
      refuse(pid, "it answers something else");
    }
  }
  if (!ended) refuse(pid, "its answer ends too early");
  return job;
}

}  // namespace top
