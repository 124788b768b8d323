// SPDX-License-Identifier: MIT
// The door of a host: who comes from another one, proves that it knows the secret, and names a TCP
// connection, is handed over to the process that has the other end of that.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hosts/secret.hpp"
#include "hosts/wire.hpp"

namespace preload::hosts {

/// Visitors that it has at once. When there are more, it drops the one that has been there longest,
/// if that is longer than kPatienceWithVisitor; else the newcomer.
inline constexpr std::size_t kVisitors = 64;
inline constexpr std::chrono::milliseconds kPatienceWithVisitor{200};
/// How long a visitor may take.
inline constexpr std::chrono::milliseconds kVisit{2000};

/// Listens on a TCP port of all addresses. It knows no connection: the processes offer streams
/// under names (Offer), and what was handed over does not need it any more. A visitor that does not
/// prove the secret gets nothing but the challenge. Owner thread only.
class Broker {
 public:
  /// Port 0: any. Throws dtutils::Error: somebody has the port.
  Broker(const Secret& secret, std::uint16_t port);
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  ~Broker();

  std::uint16_t port() const noexcept { return port_; }
  std::size_t visitors() const noexcept { return visitors_.size(); }
  /// Serves for that time.
  void serve(std::chrono::milliseconds time);

 private:
  using Clock = std::chrono::steady_clock;
  struct Visitor {
    int fd;
    Clock::time_point came;
    Nonce nonce;
    Knock knock;
    std::size_t received;
  };

  void admit();
  void welcome(int fd);
  /// Drops the one that has been there longest, if it has had its time. False: it has not.
  bool make_room() noexcept;
  void drop(std::size_t visitor) noexcept;
  /// False: the visitor is done.
  bool hear(Visitor& visitor) noexcept;
  void answer(const Visitor& visitor) noexcept;

  Secret secret_;
  int socket_;
  std::uint16_t port_;
  /// In the order in which they came.
  std::vector<Visitor> visitors_;
};

}  // namespace preload::hosts
