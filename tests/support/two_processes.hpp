// SPDX-License-Identifier: MIT
// A second process for a test: forked, spoken to over a wire, and never able to hang the test.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "dtutils/endpoint.hpp"
#include "dtutils/memory_region.hpp"
#include "support/side.hpp"

namespace support {

/// One end of the wire between the two processes of a test. Every call ends: by success, or by an
/// exception when the other process is gone or kPatience is over.
class Wire {
 public:
  /// Takes over the socket `fd`. `epitaph` says what became of the other process.
  Wire(int fd, std::function<std::string()> epitaph);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire();

  template <class T>
  void tell(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    write(&value, sizeof value);
  }
  template <class T>
  T hear() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    read(&value, sizeof value);
    return value;
  }
  /// Returns when both sides have called it equally often.
  void meet();

 private:
  void write(const void* data, std::size_t size);
  void read(void* data, std::size_t size);

  int fd_;
  std::function<std::string()> epitaph_;
};

/// A forked process that runs one function; on the simulated device, a node that does. Make it
/// before this process opens a device: what is inherited across fork(2) may not be used. In the
/// function, report failures by exceptions (support/require.hpp), not by Catch2 assertions. The
/// process dies with its parent, and by itself after three times kPatience.
class RemotePeer {
 public:
  using Body = std::function<void(Wire&)>;
  explicit RemotePeer(const Body& body);
  RemotePeer(const RemotePeer&) = delete;
  RemotePeer& operator=(const RemotePeer&) = delete;
  /// Kills the process if it still runs.
  ~RemotePeer();

  Wire& wire() { return *wire_; }
  pid_t pid() const { return pid_; }
  /// SIGSTOP; returns when all threads of the process have stopped.
  void stop();
  /// SIGKILL; returns when the process is no more.
  void kill();
  /// Waits for the end of the function. Throws in the words of its exception, or says which signal
  /// ended the process.
  void join();

 private:
  struct Report;
  /// As the constructor, in the simulation under test.
  void start_node(int fd, const Body& body);
  bool reap(std::chrono::milliseconds limit);
  std::string epitaph();

  Report* report_;
  /// Of a node.
  dtutils::Simulation::Node node_ = 0;
  std::shared_ptr<bool> node_ended_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  int status_ = 0;
  std::unique_ptr<Wire> wire_;
};

/// Exchanges endpoints over the wire and connects; both sides call it. Returns the other side's
/// memory. When it returns, both queue pairs are ready to send.
dtutils::RemoteMemoryLocator connect(Wire& wire, Side& side);

}  // namespace support
