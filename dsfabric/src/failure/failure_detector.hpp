// SPDX-License-Identifier: MIT
// The thread that notices failures of peers nobody is talking to.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "bootstrap/shared_bootstrap.hpp"
#include "dsfabric/detail/sparse_array.hpp"
#include "dtutils/device.hpp"
#include "dtutils/joinable_thread.hpp"
#include "failure/end_notices.hpp"
#include "failure/failures.hpp"
#include "failure/handshakes.hpp"
#include "failure/membership.hpp"
#include "failure/pending_table.hpp"
#include "job/members.hpp"
#include "mesh/connections.hpp"
#include "threads/thread_registry.hpp"

namespace dsfabric {

/// It sleeps until the bootstrap has news, somebody suspects a peer, or Config::watch_interval is
/// over. Then it answers those who want to connect, looks at what each peer has told about its end
/// and at its connections, and handles what was declared failed. On devices that notice a dead peer
/// only when they talk to it, it also writes nothing to each peer, so that the device has to.
/// Layers above look at connections of their own then. What members of an elastic job that are gone
/// had here, it gives back.
class FailureDetector {
 public:
  /// It runs from here on, and looks every `interval`.
  FailureDetector(std::chrono::milliseconds interval, dtutils::DeviceKind device,
                  SharedBootstrap& bootstrap, const Members& members, ThreadRegistry& threads,
                  Connections& connections, Failures& failures, EndNotices& notices,
                  Handshakes& handshakes, Membership& membership, PendingTable& pending);
  FailureDetector(const FailureDetector&) = delete;
  FailureDetector& operator=(const FailureDetector&) = delete;
  ~FailureDetector();

 private:
  void run();
  void touch_peers() noexcept;
  void give_back() noexcept;

  const std::chrono::milliseconds interval_;
  const bool device_notices_;
  SharedBootstrap& bootstrap_;
  const Members& members_;
  ThreadRegistry& threads_;
  Connections& connections_;
  Failures& failures_;
  EndNotices& notices_;
  Handshakes& handshakes_;
  Membership& membership_;
  PendingTable& pending_;
  /// For each peer, what retired() must reach before the last empty write has been completed.
  detail::SparseArray<std::uint64_t> touched_;
  /// Members that are gone, and have registered memory here.
  std::vector<ProcessId> gone_;
  std::atomic<bool> stop_{false};
  dtutils::JoinableThread thread_;
};

}  // namespace dsfabric
