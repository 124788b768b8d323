// SPDX-License-Identifier: MIT
// Where streams begin: a name that other processes of the host can connect to.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "dtutils/protection_domain.hpp"
#include "streams/stream.hpp"

namespace streams {

/// Accepts streams under a name. The name is a Unix-domain socket in the abstract namespace, which
/// ends with the process; it is unique for a user and a network namespace. Only processes of the
/// same user may connect: SO_PEERCRED is checked on both sides, before anything is read.
///
/// Setup only.
class Listener {
 public:
  /// Begins to listen. `options` are those of the streams. Throws Error: the name is in use, empty,
  /// or longer than 80 bytes; an option is not as StreamOptions says.
  Listener(dtutils::ProtectionDomain& domain, std::string_view name,
           const StreamOptions& options = {});
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  /// The next stream, or nullptr when `timeout` is over. Who is of another user, speaks something
  /// else, or leaves in the middle of the introduction is dropped, and the wait goes on; one that
  /// keeps silent delays it by kIntroduction at most. Throws Error when the device refuses.
  std::unique_ptr<Stream> accept(std::chrono::milliseconds timeout);

  /// Readable when somebody wants to connect: for poll(2) and epoll(7).
  int descriptor() const noexcept { return socket_; }

 private:
  std::unique_ptr<Stream> introduce(int connection);

  dtutils::ProtectionDomain& domain_;
  std::string name_;
  StreamOptions options_;
  int socket_;
};

/// Connects to a listener of this host, which may not have begun to listen yet. Throws Error:
/// nobody listens or answers within `timeout`, which all steps share; the listener is of another
/// user; an option is not as StreamOptions says; the device cannot reach the other one. Setup only.
std::unique_ptr<Stream> connect(dtutils::ProtectionDomain& domain, std::string_view name,
                                std::chrono::milliseconds timeout,
                                const StreamOptions& options = {});

/// Whether a process of this host listens under the name at this moment; whoever does takes no
/// notice. Setup only.
bool is_listening(std::string_view name) noexcept;

}  // namespace streams
