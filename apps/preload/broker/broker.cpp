// SPDX-License-Identifier: MIT
// cariama-stream-broker: the broker of a host and user, in the background as long as somebody needs
// it.
#include "hosts/broker.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "hosts/settings.hpp"
#include "local_name.hpp"
#include "presence.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kBetweenLooks{10};
/// It ends when so long no program has listened or offered a stream, and nobody has started one.
constexpr std::chrono::seconds kIdle{60};

/// A name that one broker of this user has; who comes second tells the first one to stay.
class Place {
 public:
  explicit Place(std::uint16_t port)
      : name_(preload::kBrokerName + std::to_string(port)),
        socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  /// False: another one has it.
  bool take() const noexcept { return bind(socket_, name_.get(), name_.length) == 0; }
  bool tell_other() const noexcept {
    const char word = 0;
    return sendto(socket_, &word, 1, MSG_NOSIGNAL, name_.get(), name_.length) == 1 ||
           errno == EAGAIN;
  }
  bool was_told() const noexcept {
    char word;
    bool told = false;
    while (recv(socket_, &word, 1, 0) >= 0) told = true;
    return told;
  }

 private:
  preload::LocalName name_;
  int socket_;
};

/// Goes on in the background, without what it inherited.
bool leave_caller() {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child > 0) _exit(0);
  setsid();
  signal(SIGHUP, SIG_IGN);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);
  return chdir("/") == 0;
}

constexpr const char* kUsage =
    "Usage: cariama-stream-broker SECRET_FILE PORT\n"
    "The broker of this host and user for scripts/stream --between-hosts, which starts it: it goes "
    "on in the background.\n";

/// What is wrong is the last argument, if there is one.
int refuse(int argc, char** argv) {
  std::fprintf(stderr, "cariama-stream-broker: %s is not SECRET_FILE and PORT\n%s",
               argc > 1 ? argv[argc - 1] : "nothing", kUsage);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  const std::uint16_t port = argc == 3 ? preload::hosts::port_from(argv[2]) : std::uint16_t{0};
  if (port == 0) return refuse(argc, argv);
  // What the program that starts it has open is not its own.
  close_range(3, ~0u, 0);
  try {
    const preload::hosts::Secret secret = preload::hosts::read_secret(argv[1]);
    const Place place(port);
    if (!place.take()) return place.tell_other() ? 0 : 1;
    preload::hosts::Broker broker(secret, port);
    if (!leave_caller()) return 1;
    Clock::time_point needed = Clock::now();
    while (Clock::now() < needed + kIdle) {
      broker.serve(kBetweenLooks);
      if (place.was_told() || preload::is_anybody_announced()) needed = Clock::now();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cariama-stream-broker: %s\n", error.what());
    return 1;
  }
  return 0;
}
