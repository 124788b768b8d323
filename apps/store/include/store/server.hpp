// SPDX-License-Identifier: MIT
// The sockets of a member: connections of clients on TCP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/engine.hpp"

namespace store {

/// Accepts clients, hands their commands to the engine and sends them its replies; epoll(7), on the
/// thread that owns the engine. A client that does not take its replies is not read from, and one
/// that leaves more than Options::max_unread of them is closed. Owner thread only.
class Server {
 public:
  struct Options {
    /// Where it listens.
    std::string address = "127.0.0.1";
    /// 0: any free one, see port().
    std::uint16_t port = 0;
    /// Bytes of replies and published messages that may wait for one client.
    std::size_t max_unread = 64 << 20;
    /// Connections at most; as many as the process may have files, if that is less.
    std::size_t max_clients = 20'000;
    /// Nothing is read while so many messages wait in the engine.
    std::size_t max_waiting = 256;
  };
  /// Throws dtutils::Error when it cannot listen there. The engine outlives it, and
  /// delivers nothing afterwards. Setup only.
  Server(Engine& engine, const Options& options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// Takes what the sockets have, without waiting. True when there was anything.
  bool poll();
  /// Sends what the engine has answered, and forgets clients that are done.
  bool flush();
  /// Where it listens.
  std::uint16_t port() const noexcept { return port_; }
  /// Connections.
  std::size_t clients() const noexcept { return connections_.size() - gone_.size(); }

 private:
  struct Connection;

  void accept_all();
  void read_from(Connection& connection);
  void take_commands(Connection& connection);
  void send_to(Connection& connection);
  void watch(Connection& connection);
  void close(Connection& connection);

  Engine& engine_;
  Options options_;
  int listener_ = -1;
  int epoll_ = -1;
  std::uint16_t port_ = 0;
  std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
  /// Closed, while the engine still has commands of theirs.
  std::vector<Connection*> gone_;
  std::vector<char> buffer_;
};

}  // namespace store
