// SPDX-License-Identifier: MIT
// A thread that writes checkpoints, so that the one that delivers does not wait for the disk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dtutils/joinable_thread.hpp"
#include "groups/checkpoint.hpp"

namespace groups::detail {

/// One checkpoint at a time. The owner hands it a state; the thread writes it and ends.
class CheckpointWriter {
 public:
  explicit CheckpointWriter(std::string folder) : folder_(std::move(folder)) {}
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  ~CheckpointWriter() {
    if (thread_.joinable()) thread_.join();
  }

  bool busy() const noexcept { return thread_.joinable(); }
  /// Not while busy.
  void begin(const CheckpointHead& head, std::vector<std::byte> state) {
    done_.store(false, std::memory_order_relaxed);
    thread_ = dtutils::JoinableThread([this, head, bytes = std::move(state)] {
      try {
        write_checkpoint(folder_, head, bytes);
        next_ = head.next;
      } catch (const std::exception& error) {
        why_ = error.what();
      }
      // Pairs with finished(): who sees it sees the rest.
      done_.store(true, std::memory_order_release);
    });
  }
  /// True once for each that is done; then durable() or why() is new.
  bool finished() {
    if (!busy() || !done_.load(std::memory_order_acquire)) return false;
    thread_.join();
    if (why_.empty()) durable_ = next_;
    return true;
  }
  std::uint64_t durable() const noexcept { return durable_; }
  void set_durable(std::uint64_t next) noexcept { durable_ = next; }
  /// Empty unless one has failed. Not while busy.
  const std::string& why() const noexcept { return why_; }

 private:
  const std::string folder_;
  dtutils::JoinableThread thread_;
  std::atomic<bool> done_{false};
  std::uint64_t next_ = 0;
  std::uint64_t durable_ = 0;
  std::string why_;
};

}  // namespace groups::detail
