// SPDX-License-Identifier: MIT
// The bounded memory of one process' part of the tree.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "dtutils/error.hpp"

namespace mcts {

/// Memory is handed out in cells: one cache line.
inline constexpr std::size_t kCell = 64;

/// Address space for `limit` bytes; pages are taken as they are first used. Given out in slabs to
/// threads, taken back all at once.
class Arena {
 public:
  static constexpr std::size_t kSlab = std::size_t{64} << 10;

  /// Throws Error when the system does not give the address space. Setup only.
  explicit Arena(std::size_t limit) : bytes_(std::max(limit / kSlab, std::size_t{1}) * kSlab) {
    void* const space = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) {
      throw dtutils::Error("memory of the tree", "no address space for it",
                           "choose a smaller limit (--memory), or raise `ulimit -v`", errno);
    }
    // Fewer page faults where the system has huge pages; it works without.
    madvise(space, bytes_, MADV_HUGEPAGE);
    base_ = static_cast<std::byte*>(space);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { munmap(base_, bytes_); }

  std::size_t limit() const noexcept { return bytes_; }
  /// Bytes given out. Any thread, wait-free.
  std::size_t used() const noexcept {
    return std::min(next_.load(std::memory_order_relaxed), bytes_);
  }
  /// A slab, or nullptr at the limit. Any thread, wait-free.
  std::byte* slab() noexcept {
    // Relaxed: the slab is reached by others only through links, which release.
    if (next_.load(std::memory_order_relaxed) >= bytes_) return nullptr;
    const std::size_t at = next_.fetch_add(kSlab, std::memory_order_relaxed);
    return at < bytes_ ? base_ + at : nullptr;
  }
  /// Takes everything back. Setup only: nobody uses it, and threads forget their slabs.
  void reset() noexcept { next_.store(0, std::memory_order_relaxed); }

  std::byte* at(std::uint32_t cell) const noexcept { return base_ + std::size_t{cell} * kCell; }
  std::uint32_t cell_of(const void* address) const noexcept {
    const auto offset = static_cast<const std::byte*>(address) - base_;
    return static_cast<std::uint32_t>(static_cast<std::size_t>(offset) / kCell);
  }

 private:
  std::byte* base_;
  std::size_t bytes_;
  alignas(kCell) std::atomic<std::size_t> next_{0};
};

/// A thread's way to take memory from the arena. Owner thread only.
class Slab {
 public:
  explicit Slab(Arena& arena) noexcept : arena_(arena) {}

  /// `bytes`, at most Arena::kSlab, at the start of a cell; nullptr at the limit.
  void* take(std::size_t bytes) noexcept {
    const std::size_t size = (bytes + kCell - 1) / kCell * kCell;
    if (size > left_) {
      std::byte* const fresh = arena_.slab();
      if (fresh == nullptr) return nullptr;
      next_ = fresh;
      left_ = Arena::kSlab;
    }
    void* const taken = next_;
    next_ += size;
    left_ -= size;
    return taken;
  }
  /// Gives back what was taken last.
  void undo(std::size_t bytes) noexcept {
    const std::size_t size = (bytes + kCell - 1) / kCell * kCell;
    next_ -= size;
    left_ += size;
  }
  /// Before Arena::reset.
  void forget() noexcept { left_ = 0; }

 private:
  Arena& arena_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace mcts
