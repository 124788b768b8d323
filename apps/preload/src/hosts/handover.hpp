// SPDX-License-Identifier: MIT
// How the broker gives a connection from another host to the process that it is for.
#pragma once

#include <string_view>

namespace preload::hosts {

/// A process offers a stream for one of its TCP connections, under the connection's name in the
/// abstract namespace of Unix-domain sockets, as long as this object lives. Owner thread only.
class Offer {
 public:
  /// Throws dtutils::Error: somebody has the name, or there is no descriptor left.
  explicit Offer(std::string_view connection);
  Offer(const Offer&) = delete;
  Offer& operator=(const Offer&) = delete;
  ~Offer();

  /// Readable when somebody has a connection for this process.
  int descriptor() const noexcept { return socket_; }
  /// The connection that the broker hands over, which the caller closes; -1 when there is none.
  /// Who is of another user is dropped; who says nothing delays it by kHandover at most.
  int take() noexcept;

 private:
  int socket_;
};

/// Who offers a stream for a connection, as the broker sees it. Owner thread only.
class Recipient {
 public:
  explicit Recipient(std::string_view connection) noexcept;
  Recipient(const Recipient&) = delete;
  Recipient& operator=(const Recipient&) = delete;
  ~Recipient();

  /// False: nobody, or a process of another user.
  bool is_there() const noexcept { return socket_ >= 0; }
  /// Gives it a copy of the descriptor.
  bool give(int connection) noexcept;

 private:
  int socket_;
};

}  // namespace preload::hosts
