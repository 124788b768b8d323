// SPDX-License-Identifier: MIT
// Jobs of processes that lock, and a checker that sees whether two ever hold one lock.
#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "dsfabric/support/killed_job.hpp"
#include "locks/locks.hpp"
#include "support/per_process.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

namespace support {

inline constexpr std::uint32_t kHistoryLocks = 16;
inline constexpr std::uint32_t kHistoryHolders = 64;

/// Who holds which lock, in memory that the processes of a job share; made before they are forked.
/// A holder first says that it holds, and then looks at all others: of two that hold at the same
/// time, one at least sees it.
class History {
 public:
  History()
      : cells_(new(mmap(nullptr, sizeof(Cells), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0)) Cells) {}
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  ~History() { munmap(cells_, sizeof(Cells)); }

  /// `owner_died`: what the lock says of the holder before.
  void enter(std::uint32_t lock, std::uint32_t holder, bool exclusive, bool owner_died = false) {
    auto& of_lock = cells_->held[lock];
    of_lock[holder].store(exclusive ? 2 : 1);
    for (std::uint32_t other = 0; other < kHistoryHolders; ++other) {
      if (other == holder) continue;
      const std::uint32_t held = of_lock[other].load();
      if (held == 0 || (held == 1 && !exclusive)) continue;
      if (!cells_->dead[other].load()) {
        fail(lock, holder, other, " hold it");
      } else if (held == 2) {
        if (!owner_died) fail(lock, holder, other, ": the second died, and the first was not told");
        if (exclusive) of_lock[other].store(0);
      }
    }
    ++cells_->acquisitions;
  }
  void leave(std::uint32_t lock, std::uint32_t holder) { cells_->held[lock][holder].store(0); }
  /// Before it is killed.
  void bury(std::uint32_t holder) { cells_->dead[holder].store(true); }
  std::uint64_t acquisitions() const { return cells_->acquisitions.load(); }
  std::uint64_t violations() const { return cells_->violations.load(); }

 private:
  struct Cells {
    std::array<std::array<std::atomic<std::uint32_t>, kHistoryHolders>, kHistoryLocks> held;
    std::array<std::atomic<bool>, kHistoryHolders> dead;
    std::atomic<std::uint64_t> acquisitions;
    std::atomic<std::uint64_t> violations;
  };
  [[noreturn]] void fail(std::uint32_t lock, std::uint32_t one, std::uint32_t other,
                         const std::string& what) {
    ++cells_->violations;
    throw std::runtime_error("lock " + std::to_string(lock) + ": " + std::to_string(one) + " and " +
                             std::to_string(other) + what);
  }

  Cells* cells_;
};

/// What this process does when its worker comes to a point of a protocol. Set in the process
/// itself, by the worker.
struct AtPoint {
  using Hook = std::function<void(locks::detail::Point)>;
  inline static PerProcess<Hook> hook;
  static void call(locks::detail::Point reached) {
    if (*hook) (*hook)(reached);
  }
};

template <class M>
locks::LockSpaceOptions options_of(std::uint32_t locks = 16) {
  locks::LockSpaceOptions options;
  options.locks = locks;
  options.scheme = M::kScheme;
  options.at_point = &AtPoint::call;
  return options;
}

/// The next requests of this process raise `word` when they stand in the queue of a lock that
/// somebody holds.
inline void count_waiters(std::atomic<std::uint64_t>& word) {
  *AtPoint::hook = [&word](locks::detail::Point reached) {
    if (reached == locks::detail::Point::kTold) ++word;
  };
}

struct LockJob {
  std::uint32_t processes = 2;
  std::uint32_t threads = 1;
  /// 0: as the environment says.
  std::uint64_t adversary = 0;
};

/// The body of a process of a ForkJob: runs `work` on each of its workers. Others may die or be
/// given up meanwhile, but the work comes to its end.
inline ForkJob::Body living(const LockJob& job,
                            const std::function<void(Member&, dsfabric::Thread&)>& work) {
  return [job, work](Member& member) {
    if (job.adversary != 0) {
      setenv("CARIAMA_SHM_ADVERSARY", std::to_string(job.adversary).c_str(), 1);
    }
    dsfabric::Config config;
    config.threads = job.threads;
    config.watch_interval = std::chrono::milliseconds(10);
    config.leave_timeout = std::chrono::milliseconds(2000);
    dsfabric::Fabric fabric = member.join(config);
    std::atomic<std::uint32_t> ended{0};
    try {
      fabric.run([&](dsfabric::Thread& self) {
        work(member, self);
        ++ended;
      });
    } catch (const dsfabric::PeerFailed& failure) {
      require(ended == job.threads, failure.what());
    }
  };
}

/// A job of such processes. Returns how they ended.
inline std::string run_members(const LockJob& job,
                               const std::function<void(Member&, dsfabric::Thread&)>& work) {
  return ForkJob(job.processes, living(job, work)).wait();
}

inline void serve_until_word(Member& member, dsfabric::Thread& self, std::size_t word,
                             std::uint64_t value) {
  serve_until(self, [&] { return member.memory.words[word] >= value; });
}

/// The living have all come here; a collective would not survive the death. Once a job and word.
inline void meet_living(Member& member, dsfabric::Thread& self, std::size_t word,
                        std::uint32_t living) {
  ++member.memory.words[word];
  serve_until_word(member, self, word, living);
}

}  // namespace support
