// SPDX-License-Identifier: MIT
// That this process itself has failed: one of its workers or service handlers threw.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "dsfabric/ids.hpp"
#include "failure/end_notices.hpp"
#include "failure/failures.hpp"

namespace dsfabric {

/// It counts as failed in this process too, so that nobody here waits for what a worker that has
/// ended would do. Its peers are told; its own collectives end, and it leaves the job without good
/// order.
class OwnFailure {
 public:
  OwnFailure(ProcessId self, Failures& failures, EndNotices& notices) noexcept
      : self_(self), failures_(failures), notices_(notices) {}
  OwnFailure(const OwnFailure&) = delete;
  OwnFailure& operator=(const OwnFailure&) = delete;

  /// First one wins. Any thread (takes a lock).
  void declare(std::string_view reason) noexcept;
  /// Any thread, wait-free.
  bool declared() const noexcept { return declared_.load(std::memory_order_acquire); }
  /// Any thread (takes a lock).
  std::string reason() const;

 private:
  const ProcessId self_;
  Failures& failures_;
  EndNotices& notices_;
  std::atomic<bool> declared_{false};
  mutable std::mutex mutex_;
  std::string reason_;
};

}  // namespace dsfabric
