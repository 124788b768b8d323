// SPDX-License-Identifier: MIT
// The buffer between the thread that appends to a log and the one that writes it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "dtutils/joinable_thread.hpp"
#include "groups/log.hpp"
#include "log/format.hpp"
#include "log/segments.hpp"

namespace groups::detail {

/// A ring of bytes with one writer, the owner, and one reader, the thread of the log, which starts
/// with the first record. What is in [written, appended) belongs to the thread, the rest of the
/// ring to the owner; the segments belong to the owner until the thread starts.
class LogWriter {
 public:
  explicit LogWriter(const LogOptions& options);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  ~LogWriter();

  /// Throws Error when the thread runs.
  Segments& segments_before_start();
  void reread() noexcept;
  AppendStatus try_append(std::uint64_t view, std::span<const std::byte> bytes) noexcept;
  void truncate_before(std::uint64_t sequence) noexcept;
  bool poll();

  std::function<void(std::uint64_t)> upcall;
  std::uint64_t persisted() const noexcept {
    // Pairs with the release in write_batch: who sees the number sees the disk's answer.
    return persisted_.load(std::memory_order_acquire);
  }
  bool failed() const noexcept {
    // Pairs with the release in run(): why_ is complete.
    return failed_.load(std::memory_order_acquire);
  }
  const std::string& why() const noexcept { return why_; }
  LogExtent extent() const noexcept {
    return {first_.load(std::memory_order_relaxed), end_, view_};
  }
  std::uint64_t cut_bytes() const noexcept { return segments_.cut_bytes(); }

 private:
  void copy_in(std::uint64_t at, std::span<const std::byte> bytes) noexcept;
  RecordHeader header_at(std::uint64_t at) const noexcept;
  void wake() noexcept;
  /// Returns when there is other news than that.
  void wait_for_news(std::uint32_t known) const noexcept;
  void run() noexcept;
  bool write_batch();
  /// Writes what has gathered from `from` on, and where that ends.
  std::uint64_t write_gathered(std::uint64_t from);

  const LogOptions options_;
  File lock_;
  Segments segments_;
  std::vector<std::byte> ring_;
  dtutils::JoinableThread thread_;

  // The owner's.
  std::uint64_t end_ = 0;
  std::uint64_t view_ = 0;
  std::uint64_t told_ = 0;
  // Written by the owner.
  std::atomic<std::uint64_t> appended_{0};
  std::atomic<std::uint64_t> truncate_{0};
  std::atomic<std::uint32_t> news_{0};
  std::atomic<bool> stop_{false};
  // Written by the thread; the last two by the owner where it could not be started.
  alignas(64) std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> persisted_{0};
  std::atomic<std::uint64_t> first_{0};
  std::uint64_t truncated_ = 0;
  std::atomic<bool> failed_{false};
  std::string why_;
};

}  // namespace groups::detail
