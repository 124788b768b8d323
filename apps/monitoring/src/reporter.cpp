// SPDX-License-Identifier: MIT
// Reporter: a socket, and a thread that answers with the figures of the job.
#include "monitoring/reporter.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

#include "dtutils/error.hpp"
#include "dtutils/scheduler.hpp"
#include "dtutils/wait.hpp"
#include "monitoring/watcher.hpp"
#include "reporter_address.hpp"

namespace monitoring {
namespace {

/// A program that asks and does not read holds the others up for no longer.
constexpr timeval kSendLimit{1, 0};
/// For wait_for_events.
constexpr std::chrono::milliseconds kForever{-1};

[[noreturn]] void refuse(const char* what) {
  throw dtutils::Error("monitoring::Reporter", what,
                       "make one Reporter in a process, and look at its limit of descriptors",
                       errno);
}

int open_door() {
  const int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (door < 0) refuse("it gets no socket");
  const detail::ReporterAddress address(geteuid(), static_cast<std::uint64_t>(getpid()));
  if (bind(door, address.raw(), address.length) != 0 || listen(door, SOMAXCONN) != 0) {
    const int code = errno;
    close(door);
    errno = code;
    refuse("it cannot listen");
  }
  return door;
}

bool is_own_user(int client) noexcept {
  ucred who{};
  socklen_t size = sizeof who;
  return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
         (who.uid == geteuid() || who.uid == 0);
}

void send_all(int client, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t sent = send(client, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string report(dsfabric::Fabric& fabric, Watcher& watcher) {
  std::string text = fmt::format("job {}\n", fabric.founders());
  const auto out = std::back_inserter(text);
  Reading reading;
  for (std::uint32_t i = 0; i < fabric.founders(); ++i) {
    const dsfabric::ProcessId process{static_cast<std::uint16_t>(i)};
    const dsfabric::ProcessInfo& info = fabric.info(process);
    const Status status = watcher.read(process, reading);
    fmt::format_to(out, "process {} {} {} {} {}\n", i, info.pid, info.machine.value, info.host,
                   status == Status::kDone ? "ok" : to_string(status));
    if (status != Status::kDone) continue;
    const auto& counters = watcher.counters(process, reading.count);
    for (std::size_t n = 0; n < std::min<std::size_t>(reading.count, counters.size()); ++n) {
      fmt::format_to(out, "counter {} {} {} {}\n", counters[n].name,
                     counters[n].kind == Kind::kLevel ? "level" : "total", reading.values[n],
                     counters[n].unit);
    }
  }
  text += "end\n";
  return text;
}

}  // namespace

Reporter::Reporter(dsfabric::Fabric& fabric) : fabric_(fabric) {
  // One seed is one run, whoever looks at this machine meanwhile; and all nodes have one pid.
  if (dtutils::simulated_by() != nullptr) return;
  door_ = open_door();
  thread_ = dtutils::JoinableThread([this] { run(); });
}

Reporter::~Reporter() {
  if (door_ < 0) return;
  ending_.wake();
  thread_.join();
  close(door_);
}

void Reporter::run() noexcept {
  std::optional<Watcher> watcher;  // of this thread
  for (;;) {
    std::array<pollfd, 2> wait{pollfd{ending_.fd(), POLLIN, 0}, pollfd{door_, POLLIN, 0}};
    if (dtutils::wait_for_events(wait, kForever) < 0 && errno != EINTR) return;
    if (wait[0].revents != 0) return;
    if (wait[1].revents == 0) continue;
    const int client = accept4(door_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {
      // No descriptors: the client waits, and this thread does not spin meanwhile.
      if (errno == EMFILE || errno == ENFILE) {
        (void)dtutils::wait_for_events(std::span(wait).first(1), std::chrono::milliseconds(100));
      }
      continue;
    }
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &kSendLimit, sizeof kSendLimit);
    try {
      if (is_own_user(client)) {
        if (!watcher) watcher.emplace(fabric_);
        send_all(client, report(fabric_, *watcher));
      }
    } catch (const std::exception& error) {
      send_all(client, fmt::format("error {}\n", error.what()));
    }
    close(client);
  }
}

}  // namespace monitoring
