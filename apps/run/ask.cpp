// SPDX-License-Identifier: MIT
// Requests to a keeper, and its answers or silence.
#include "ask.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "dtutils/error.hpp"
#include "dtutils/poll_until.hpp"

namespace run {
namespace {

using AskClock = std::chrono::steady_clock;

bool readable(int fd, AskClock::time_point by) { return dtutils::poll_until(fd, POLLIN, by) > 0; }

}  // namespace

Question::Question(const JobDirectory& directory, const std::string& name,
                   const std::string& request)
    : directory_(directory), name_(name), job_(directory.find(name)) {
  if (job_.kind == JobDirectory::Found::Kind::kNone) {
    refuse(
        fmt::format("no detached job of yours runs under this name; if one has ended, its "
                    "output may be in {}",
                    directory.default_log(name)));
  }
  if (job_.kind == JobDirectory::Found::Kind::kGone && job_.keeper == 0) {
    refuse("its launcher was killed before it had a keeper");
  }
  if (job_.kind == JobDirectory::Found::Kind::kGone) {
    refuse(
        fmt::format("its keeper, process {}, was killed, and its processes have ended with it; "
                    "its output is in {}",
                    job_.keeper, job_.log));
  }
  fd_ = directory.connect_to(name);
  const std::string line = request + "\n";
  if (fd_ < 0 ||
      send(fd_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
    const int code = errno;
    if (fd_ >= 0) close(fd_);
    refuse("its keeper cannot be asked", code);
  }
}

Question::~Question() { close(fd_); }

void Question::refuse(const std::string& what, int code) const {
  throw dtutils::Error(fmt::format("job {}", name_), what, "--attach alone lists what runs", code);
}

bool Question::is_answered(std::chrono::milliseconds limit) const {
  return readable(fd_, AskClock::now() + limit);
}

nlohmann::ordered_json Question::answer(std::chrono::milliseconds limit) {
  const auto by = AskClock::now() + limit;
  std::string text;
  for (;;) {
    if (!readable(fd_, by)) {
      refuse(fmt::format("its keeper, process {}, does not answer", job_.keeper));
    }
    char part[16384];
    const ssize_t got = recv(fd_, part, sizeof part, 0);
    if (got > 0) text.append(part, static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) break;
  }
  // Its lock tells which of the two it was.
  if (text.empty()) {
    refuse(directory_.find(name_).kind == JobDirectory::Found::Kind::kRunning
               ? fmt::format("its keeper, process {}, is asked by too many", job_.keeper)
               : fmt::format("its keeper, process {}, has ended; its output is in {}", job_.keeper,
                             job_.log));
  }
  auto report = nlohmann::ordered_json::parse(text, nullptr, false);
  if (report.is_discarded()) refuse("its keeper answers something else: use a launcher like it");
  if (report.contains("error")) refuse(report["error"].get<std::string>());
  return report;
}

nlohmann::ordered_json ask(const JobDirectory& directory, const std::string& name,
                           const std::string& request) {
  return Question(directory, name, request).answer(std::chrono::seconds(5));
}

}  // namespace run
