// SPDX-License-Identifier: MIT
// How the guests of a cluster find each other: one TCP connection between two of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <type_traits>

namespace cluster {

/// One end of a TCP connection. Throws std::runtime_error when the other end is silent for too long
/// or gone. Owner thread only.
class Rendezvous {
 public:
  /// Accepts one connection on its own `address`.
  static Rendezvous listen(const std::string& address);
  /// Connects to a guest that listens, or will do so soon.
  static Rendezvous connect(const std::string& address);
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  ~Rendezvous();

  /// Sends its own value and returns that of the other side.
  template <class T>
  T exchange(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    T theirs;
    send(&mine, sizeof mine);
    receive(&theirs, sizeof theirs);
    return theirs;
  }
  /// Returns when both sides have called it equally often.
  void meet() { exchange('m'); }

 private:
  explicit Rendezvous(int socket);
  void send(const void* data, std::size_t size);
  void receive(void* data, std::size_t size);

  int socket_;
};

}  // namespace cluster
