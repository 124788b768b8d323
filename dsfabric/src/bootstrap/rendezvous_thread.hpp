// SPDX-License-Identifier: MIT
// The rendezvous of a job whose launcher has none: a thread of one of its processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/server.hpp"
#include "dtutils/wake_fd.hpp"

namespace dsfabric::rendezvous {

/// A Server in a thread that sleeps while nobody says anything. Any thread, where nothing else is
/// said.
class RendezvousThread {
 public:
  /// As Server, on any free port. Setup only.
  RendezvousThread(std::uint32_t processes, const std::string& secret, const std::string& address);
  RendezvousThread(const RendezvousThread&) = delete;
  RendezvousThread& operator=(const RendezvousThread&) = delete;
  /// Ends at once: those that are still there hear that the rendezvous has ended.
  ~RendezvousThread();

  std::uint16_t port() const noexcept { return port_; }
  /// Somebody else has seen that the process ended, and not in order as far as it knows.
  void tell_of_end(std::uint32_t rank);
  /// Returns when all processes have left or failed.
  void wait_for_all() noexcept;

 private:
  void run();
  void turn();
  void tell_all_gone() noexcept;

  /// Empty once it could not go on: then the connections are closed, and all hear of it.
  std::optional<Server> server_;
  const std::uint16_t port_;
  dtutils::WakeFd wake_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> all_gone_{false};
  std::mutex mutex_;
  std::vector<std::uint32_t> ended_;
  std::thread thread_;
};

}  // namespace dsfabric::rendezvous
