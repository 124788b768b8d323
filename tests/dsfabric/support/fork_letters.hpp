// SPDX-License-Identifier: MIT
// How the processes of a forked job send each other letters and hear of deaths: in shared memory.
#pragma once

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "dsfabric/bootstrap.hpp"
#include "dtutils/simulation.hpp"

namespace support {

inline constexpr std::uint32_t kMaxProcesses = 32;

/// A queue for each pair of processes, so that one which dies in the middle holds nobody up. Made
/// before fork(2), in memory that all share.
struct LetterMemory {
  static constexpr std::size_t kLetters = 8;
  static constexpr std::size_t kMaxLetter = 1000;
  struct Queue {
    std::atomic<std::uint32_t> sent;
    std::atomic<std::uint32_t> taken;
    std::uint32_t sizes[kLetters];
    std::byte bytes[kLetters][kMaxLetter];
  };
  /// By who sends and who takes.
  Queue queues[kMaxProcesses][kMaxProcesses];
  std::atomic<pid_t> pids[kMaxProcesses];
  std::atomic<bool> left[kMaxProcesses];
  /// Of members that are simulated: their nodes, and which of them have ended.
  std::uint32_t nodes[kMaxProcesses];
  std::atomic<bool> ended[kMaxProcesses];
};

/// Tells a process that there is news for it.
inline void wake(const LetterMemory& memory, const std::vector<int>& wakes, std::uint32_t to) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = write(wakes[to], &one, sizeof one);
  if (dtutils::Simulation* const simulation = dtutils::Simulation::current()) {
    simulation->signaled(memory.nodes[to]);
  }
}
/// A node has ended, which nobody would see as they see the end of a process.
inline void end_node(LetterMemory& memory, const std::vector<int>& wakes, std::uint32_t rank) {
  memory.ended[rank] = true;
  for (std::uint32_t each = 0; each < wakes.size(); ++each) wake(memory, wakes, each);
}

/// The letters of one process. `wakes` are event descriptors of all, made before fork(2).
class ForkLetters {
 public:
  ForkLetters(LetterMemory& memory, std::vector<int> wakes, std::uint32_t rank)
      : memory_(memory),
        wakes_(std::move(wakes)),
        rank_(rank),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        lives_(wakes_.size(), -1),
        told_(wakes_.size(), false) {
    told_[rank] = true;
    watch(wakes_[rank]);
  }
  ForkLetters(const ForkLetters&) = delete;
  ForkLetters& operator=(const ForkLetters&) = delete;
  ~ForkLetters() {
    for (const int life : lives_) close(life);
    close(epoll_);
  }

  int fd() const noexcept { return epoll_; }

  /// All processes are there: from here on their deaths are seen.
  void watch_lives() {
    const std::scoped_lock lock(mutex_);
    watching_ = true;
    for (std::uint32_t rank = 0; rank < lives_.size(); ++rank) {
      if (told_[rank] || lives_[rank] >= 0 || simulated(rank)) continue;
      lives_[rank] = static_cast<int>(syscall(SYS_pidfd_open, memory_.pids[rank].load(), 0));
      if (lives_[rank] >= 0) watch(lives_[rank]);
    }
  }

  void send(std::uint32_t to, std::span<const std::byte> bytes) {
    const std::scoped_lock lock(mutex_);
    LetterMemory::Queue& queue = memory_.queues[rank_][to];
    const std::uint32_t number = queue.sent.load(std::memory_order_relaxed);
    if (bytes.size() > LetterMemory::kMaxLetter || number - queue.taken == LetterMemory::kLetters) {
      throw std::length_error("too much for a test's letters");
    }
    queue.sizes[number % LetterMemory::kLetters] = static_cast<std::uint32_t>(bytes.size());
    std::ranges::copy(bytes, queue.bytes[number % LetterMemory::kLetters]);
    queue.sent.store(number + 1, std::memory_order_release);
    wake(memory_, wakes_, to);
  }

  std::optional<dsfabric::Bootstrap::Letter> next() {
    std::uint64_t count;
    [[maybe_unused]] const ssize_t got = ::read(wakes_[rank_], &count, sizeof count);
    for (std::uint32_t from = 0; from < wakes_.size(); ++from) {
      LetterMemory::Queue& queue = memory_.queues[from][rank_];
      const std::uint32_t number = queue.taken.load(std::memory_order_relaxed);
      if (queue.sent.load(std::memory_order_acquire) == number) continue;
      const std::byte* bytes = queue.bytes[number % LetterMemory::kLetters];
      dsfabric::Bootstrap::Letter letter{
          from, {bytes, bytes + queue.sizes[number % LetterMemory::kLetters]}};
      queue.taken.store(number + 1, std::memory_order_release);
      return letter;
    }
    return std::nullopt;
  }

  /// A process that has ended without goodbye, each once, behind its last letter.
  std::optional<std::uint32_t> next_dead() {
    const std::scoped_lock lock(mutex_);
    for (std::uint32_t rank = 0; rank < lives_.size(); ++rank) {
      if (told_[rank] || !gone(rank)) continue;
      const LetterMemory::Queue& queue = memory_.queues[rank][rank_];
      if (queue.sent != queue.taken) continue;
      told_[rank] = true;
      close(std::exchange(lives_[rank], -1));
      if (!memory_.left[rank]) return rank;
    }
    return std::nullopt;
  }

  void leave() noexcept { memory_.left[rank_] = true; }

 private:
  bool simulated(std::uint32_t rank) const { return memory_.nodes[rank] != 0; }
  bool gone(std::uint32_t rank) const {
    if (simulated(rank)) return watching_ && memory_.ended[rank];
    pollfd life{lives_[rank], POLLIN, 0};
    return lives_[rank] >= 0 && poll(&life, 1, 0) == 1;
  }
  void watch(int fd) {
    epoll_event event{EPOLLIN, {}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }

  LetterMemory& memory_;
  std::vector<int> wakes_;
  std::uint32_t rank_;
  int epoll_;
  /// Descriptors of processes.
  std::vector<int> lives_;
  /// Whose end is known here.
  std::vector<bool> told_;
  bool watching_ = false;
  std::mutex mutex_;
};

}  // namespace support
