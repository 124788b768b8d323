// SPDX-License-Identifier: MIT
// The thread that notices failures of peers nobody is talking to.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace dsfabric {

class Core;

/// It sleeps until the launcher has news, somebody suspects a peer, or Config::watch_interval is
/// over. Then it looks at what each peer has told about its end and at its connections, and handles
/// what was declared failed. On devices that notice a dead peer only when they talk to it, it also
/// writes nothing to each peer, so that the device has to.
class FailureDetector {
 public:
  explicit FailureDetector(Core& core);
  FailureDetector(const FailureDetector&) = delete;
  FailureDetector& operator=(const FailureDetector&) = delete;
  ~FailureDetector();

 private:
  void run();
  void hear_launcher() noexcept;
  void touch_peers() noexcept;

  Core& core_;
  /// For each peer, what retired() must reach before the last empty write has been completed.
  std::vector<std::uint64_t> touched_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace dsfabric
