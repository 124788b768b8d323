// SPDX-License-Identifier: MIT
// How the two sides of a stream meet: over a Unix-domain socket, as processes of one user.
#include "streams/listener.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <exception>

#include "dtutils/error.hpp"
#include "dtutils/poll_until.hpp"
#include "handshake.hpp"
#include "meeting.hpp"

namespace streams {
namespace {

using Clock = Meeting::Clock;
using std::chrono::milliseconds;

dtutils::Error not_connected(const std::string& object, int code) {
  if (code == ECONNREFUSED) {
    return {object, "nobody listens under this name",
            "start the program that does, as the same user", code};
  }
  if (code == ETIMEDOUT) {
    return {object, "the listener has no room for more connections",
            "see that it calls accept, or give it more time", code};
  }
  return {object, "the listener cannot be reached", "see what the system says", code};
}

}  // namespace

Listener::Listener(dtutils::ProtectionDomain& domain, std::string_view name,
                   const StreamOptions& options)
    : domain_(domain), name_(name), options_(options), socket_(-1) {
  check("listener " + name_, options);
  const LocalAddress address = local_address(name);
  Meeting socket(make_local_socket(), {});
  const auto* const raw = reinterpret_cast<const sockaddr*>(&address.socket);
  if (bind(socket.fd(), raw, address.length) != 0 || listen(socket.fd(), kBacklog) != 0) {
    throw dtutils::Error("listener " + name_, "nobody can listen under this name",
                         "choose another name, or end the process that has it", errno);
  }
  socket_ = socket.release();
}

Listener::~Listener() { close(socket_); }

std::unique_ptr<Stream> Listener::accept(milliseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  for (;;) {
    const int found = dtutils::poll_until(socket_, POLLIN, end);
    if (found == 0) return nullptr;
    const int connection =
        found < 0 ? -1 : accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection >= 0) {
      if (auto stream = introduce(connection)) return stream;
    } else if (errno == EMFILE || errno == ENFILE) {
      throw dtutils::Error("listener " + name_, "there is no descriptor for another stream",
                           "raise the limit of descriptors (ulimit -n)", errno);
    } else if (!is_transient(errno) && errno != ECONNABORTED) {
      throw dtutils::Error("listener " + name_, "no connection can be accepted",
                           "see what the system says; was the descriptor closed?", errno);
    }
    if (Clock::now() >= end) return nullptr;
  }
}

std::unique_ptr<Stream> Listener::introduce(int connection) {
  Meeting meeting(connection, Clock::now() + kIntroduction);
  if (!meeting.is_user(geteuid())) return nullptr;
  auto stream = Handshake::accept(domain_, meeting, options_);
  if (stream != nullptr) Handshake::keep(*stream, meeting);
  return stream;
}

std::unique_ptr<Stream> connect(dtutils::ProtectionDomain& domain, std::string_view name,
                                milliseconds timeout, const StreamOptions& options) {
  const std::string object = "stream " + std::string(name);
  check(object, options);
  const LocalAddress address = local_address(name);
  Meeting meeting(make_local_socket(), Clock::now() + timeout);
  if (const int code = meeting.connect(address); code != 0) throw not_connected(object, code);
  if (!meeting.is_user(geteuid())) {
    throw dtutils::Error(object, "the listener belongs to another user",
                         "run both programs as the same user");
  }
  auto stream = Handshake::connect(domain, meeting, options, object);
  Handshake::keep(*stream, meeting);
  return stream;
}

bool is_listening(std::string_view name) noexcept {
  try {
    const LocalAddress address = local_address(name);
    const Meeting probe(make_local_socket(), {});
    // EAGAIN: it listens, and many others wait for it.
    return ::connect(probe.fd(), reinterpret_cast<const sockaddr*>(&address.socket),
                     address.length) == 0 ||
           errno == EAGAIN;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace streams
