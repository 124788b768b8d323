// SPDX-License-Identifier: MIT
// Streams whose sides meet over a socket that the caller has.
#include "streams/over_socket.hpp"

#include <fcntl.h>

#include <utility>

#include "dtutils/error.hpp"
#include "handshake.hpp"

namespace streams {
namespace {

using std::chrono::milliseconds;

constexpr char kObject[] = "stream over a socket";

/// Owns the socket from here on.
Meeting take(int socket, milliseconds timeout) noexcept {
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  return {socket, Meeting::Clock::now() + timeout};
}

}  // namespace

std::unique_ptr<Stream> accept_over(dtutils::ProtectionDomain& domain, int socket,
                                    milliseconds timeout, const StreamOptions& options) {
  Meeting meeting = take(socket, timeout);
  check(kObject, options);
  auto stream = Handshake::accept(domain, meeting, options);
  if (stream == nullptr) {
    throw dtutils::Error(
        kObject, "the other side left, or speaks something else",
        "see that it makes a stream over this socket, and that it has the same version");
  }
  return Handshake::tried(std::move(stream), meeting, true, kObject);
}

std::unique_ptr<Stream> connect_over(dtutils::ProtectionDomain& domain, int socket,
                                     milliseconds timeout, const StreamOptions& options) {
  Meeting meeting = take(socket, timeout);
  check(kObject, options);
  return Handshake::tried(Handshake::connect(domain, meeting, options, kObject), meeting, false,
                          kObject);
}

}  // namespace streams
