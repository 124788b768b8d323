// SPDX-License-Identifier: MIT
// The watched process: busy on all its cores, with threads and connections that come and go.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "monitoring/monitoring.hpp"
#include "truth.hpp"

namespace accuracy {

/// Names of the counters.
inline constexpr const char* kThreads = "busy.threads";
inline constexpr const char* kConnections = "busy.connections";

/// Cores that this process may use.
std::uint32_t cores() noexcept;

/// Keeps two to four busy threads for each core and up to a hundred connections (pairs of sockets),
/// counts them on the board, and writes down when it did. Owner thread only.
class BusyNode {
 public:
  /// `log` has room for `limit` changes.
  BusyNode(dsfabric::Fabric& fabric, Log& log, std::size_t limit);
  BusyNode(const BusyNode&) = delete;
  BusyNode& operator=(const BusyNode&) = delete;
  /// Ends the threads and connections.
  ~BusyNode();

  /// Starts or ends a thread, or a few connections. False when the log is full.
  [[nodiscard]] bool step();

 private:
  struct Busy {
    std::atomic<bool> ending{false};
    std::thread thread;
  };
  void start_thread();
  void end_thread();
  void connect();
  void disconnect();
  /// Changes a counter, and notes it.
  void change(monitoring::Counter& counter, std::uint64_t& figure, bool more);

  Log& log_;
  std::size_t limit_;
  monitoring::Board board_;
  monitoring::Counter threads_, connections_;
  Figures now_;
  std::mt19937 random_{1};
  std::vector<std::unique_ptr<Busy>> busy_;
  std::vector<std::array<int, 2>> pairs_;
};

}  // namespace accuracy
