// SPDX-License-Identifier: MIT
// Streams whose sides meet over a socket that the caller has.
#include "streams/over_socket.hpp"

#include <fcntl.h>

#include <string>
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

std::unique_ptr<Stream> tried(std::unique_ptr<Stream> stream, Meeting& meeting, bool accepts) {
  if (!Handshake::works(*stream, meeting, accepts)) {
    throw dtutils::Error(kObject, "the device leads to no other side",
                         "see that both devices are of one network, and that the other side lives");
  }
  Handshake::keep(*stream, meeting);
  return stream;
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
  return tried(std::move(stream), meeting, true);
}

std::unique_ptr<Stream> connect_over(dtutils::ProtectionDomain& domain, int socket,
                                     milliseconds timeout, const StreamOptions& options) {
  Meeting meeting = take(socket, timeout);
  check(kObject, options);
  return tried(Handshake::connect(domain, meeting, options, kObject), meeting, false);
}

}  // namespace streams
