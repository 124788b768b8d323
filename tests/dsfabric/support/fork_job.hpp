// SPDX-License-Identifier: MIT
// A job of forked processes on the device under test, which meet in shared memory: no launcher.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "dsfabric/support/fork_letters.hpp"
#include "dtutils/error.hpp"
#include "support/device_under_test.hpp"
#include "support/require.hpp"

namespace support {

inline constexpr std::size_t kMaxBytes = 64 << 10;

/// What the processes of a job share; made before fork(2).
struct JobMemory {
  struct Process {
    std::atomic<std::uint32_t> gathers;
    std::uint32_t sizes[2];
    std::byte bytes[2][kMaxBytes];
    /// What a failing body has to say, and what a passing one wants to tell its test.
    char error[1024];
    std::atomic<std::uint64_t> result;
  };
  Process processes[kMaxProcesses];
  std::atomic<std::uint64_t> words[16];
  LetterMemory letters;
};

/// Brings no letters and no news of failures: all processes connect when they join, and the fabric
/// has to find failures by itself.
class SharedBootstrap : public dsfabric::Bootstrap {
 public:
  SharedBootstrap(JobMemory& memory, std::uint32_t rank, std::uint32_t size)
      : memory_(memory), rank_(rank), size_(size) {}

  std::uint32_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override { return size_; }
  std::string name() const override { return "fork"; }
  std::vector<dsfabric::Bytes> all_gather(std::span<const std::byte> mine,
                                          std::chrono::milliseconds limit) override {
    if (mine.size() > kMaxBytes) throw std::length_error("too much for a test's bootstrap");
    const std::uint32_t parity = gathers_++ % 2;
    JobMemory::Process& own = memory_.processes[rank_];
    own.sizes[parity] = static_cast<std::uint32_t>(mine.size());
    if (!mine.empty()) std::memcpy(own.bytes[parity], mine.data(), mine.size());
    own.gathers.store(gathers_, std::memory_order_release);
    const auto end = std::chrono::steady_clock::now() + limit;
    std::vector<dsfabric::Bytes> all;
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      const JobMemory::Process& other = memory_.processes[rank];
      while (other.gathers.load(std::memory_order_acquire) < gathers_) {
        if (std::chrono::steady_clock::now() > end) {
          throw dtutils::Error("bootstrap", "rank " + std::to_string(rank) + " did not come",
                               "check its output");
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
      all.emplace_back(other.bytes[parity], other.bytes[parity] + other.sizes[parity]);
    }
    return all;
  }

 private:
  JobMemory& memory_;
  std::uint32_t rank_;
  std::uint32_t size_;
  std::uint32_t gathers_ = 0;
};

/// Brings both.
class LetterBootstrap : public SharedBootstrap {
 public:
  LetterBootstrap(JobMemory& memory, std::vector<int> wakes, std::uint32_t rank, std::uint32_t size)
      : SharedBootstrap(memory, rank, size), letters_(memory.letters, std::move(wakes), rank) {}

  std::vector<dsfabric::Bytes> all_gather(std::span<const std::byte> mine,
                                          std::chrono::milliseconds limit) override {
    auto all = SharedBootstrap::all_gather(mine, limit);
    letters_.watch_lives();
    return all;
  }
  bool relays() const noexcept override { return true; }
  int failure_fd() const noexcept override { return letters_.fd(); }
  void send(std::uint32_t to, std::span<const std::byte> bytes) override {
    for (std::uint32_t each = 0; each < size(); ++each) {
      if (each == to || (to == size() && each != rank())) letters_.send(each, bytes);
    }
  }
  std::optional<Letter> next_letter() noexcept override { return letters_.next(); }
  std::optional<std::uint32_t> next_failed() noexcept override { return letters_.next_dead(); }
  void goodbye() noexcept override { letters_.leave(); }

 private:
  ForkLetters letters_;
};

/// What a body is handed.
struct Member {
  std::uint32_t rank;
  std::uint32_t size;
  JobMemory& memory;
  /// Of all members, for their letters; none where there are no letters.
  std::vector<int> wakes;

  dsfabric::Fabric join(dsfabric::Config config = {}) const {
    if (wakes.empty()) return join(std::make_unique<SharedBootstrap>(memory, rank, size), config);
    return join(std::make_unique<LetterBootstrap>(memory, wakes, rank, size), config);
  }
  static dsfabric::Fabric join(std::unique_ptr<dsfabric::Bootstrap> bootstrap,
                               dsfabric::Config config) {
    config.device = device_name();
    config.pin = false;
    config.leave_timeout = std::min(config.leave_timeout, std::chrono::milliseconds(10'000));
    return dsfabric::join(std::move(bootstrap), config);
  }
};

/// All members have come to the same point, which they count in a word of the job's memory; they
/// serve meanwhile.
inline void meet(Member& member, dsfabric::Fabric& fabric, std::size_t word) {
  member.memory.words[word]++;
  require(eventually([&] {
            fabric.progress();
            return member.memory.words[word] >= member.size;
          }),
          "all came");
}

/// Forks `size` processes that run `body` each. Make it before this process opens a device. Members
/// die with the test.
class ForkJob {
 public:
  using Body = std::function<void(Member&)>;
  enum class Letters { kYes, kNo };
  ForkJob(std::uint32_t size, const Body& body, Letters letters = Letters::kYes)
      : memory_(new(mmap(nullptr, sizeof(JobMemory), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)) JobMemory) {
    if (size > kMaxProcesses) throw std::length_error("too many processes for a test's job");
    while (letters == Letters::kYes && wakes_.size() < size) {
      wakes_.push_back(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    }
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) _exit(live(rank, size, body));
      pids_.push_back(pid);
    }
    statuses_.assign(size, -1);
  }
  ForkJob(const ForkJob&) = delete;
  ForkJob& operator=(const ForkJob&) = delete;
  ~ForkJob() {
    for (std::uint32_t rank = 0; rank < pids_.size(); ++rank) {
      if (statuses_[rank] == -1) {
        ::kill(pids_[rank], SIGKILL);
        waitpid(pids_[rank], nullptr, 0);
      }
    }
    for (const int wake : wakes_) close(wake);
    munmap(memory_, sizeof(JobMemory));
  }

  JobMemory& memory() { return *memory_; }
  void kill(std::uint32_t rank) { ::kill(pids_[rank], SIGKILL); }
  /// Takes the member off its core at once, and gives it back.
  void stop(std::uint32_t rank) { ::kill(pids_[rank], SIGSTOP); }
  void resume(std::uint32_t rank) { ::kill(pids_[rank], SIGCONT); }
  /// Waits for all; one text for each that did not end well, "rank: what". A member that still runs
  /// after `limit`, kSlowdown times, is killed and named.
  std::string wait(std::chrono::milliseconds limit = std::chrono::seconds(30)) {
    const auto end = std::chrono::steady_clock::now() + kSlowdown * limit;
    std::string bad;
    for (std::uint32_t rank = 0; rank < pids_.size(); ++rank) {
      int status = 0;
      bool late = false;
      while (waitpid(pids_[rank], &status, late ? 0 : WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > end) {
          late = true;
          ::kill(pids_[rank], SIGKILL);
        } else {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      }
      statuses_[rank] = status;
      if (late) {
        bad += std::to_string(rank) + ": still ran after the limit\n";
      } else if (WIFSIGNALED(status)) {
        bad += std::to_string(rank) + ": signal " + std::to_string(WTERMSIG(status)) + "\n";
      } else if (WEXITSTATUS(status) != 0) {
        bad += std::to_string(rank) + ": " + memory_->processes[rank].error + "\n";
      }
    }
    return bad;
  }

 private:
  int live(std::uint32_t rank, std::uint32_t size, const Body& body) noexcept {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    memory_->letters.pids[rank] = getpid();
    const auto tell = [&](const char* what) {
      std::strncpy(memory_->processes[rank].error, what, sizeof(JobMemory::Process::error) - 1);
      return 1;
    };
    try {
      Member member{rank, size, *memory_, wakes_};
      body(member);
      std::fflush(stdout);
      return 0;
    } catch (const std::exception& error) {
      return tell(error.what());
    } catch (...) {
      return tell("something other than a std::exception");
    }
  }

  JobMemory* memory_;
  std::vector<int> wakes_;
  std::vector<pid_t> pids_;
  std::vector<int> statuses_;
};

}  // namespace support
