// SPDX-License-Identifier: MIT
// A job of processes on the device under test, forked or simulated, which meet in shared memory.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "dsfabric/support/fork_letters.hpp"
#include "dsfabric/support/running_member.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
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
    dtutils::Deadline deadline(limit);
    std::vector<dsfabric::Bytes> all;
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      const JobMemory::Process& other = memory_.processes[rank];
      while (other.gathers.load(std::memory_order_acquire) < gathers_) {
        if (deadline.passed()) {
          throw dtutils::Error("bootstrap", "rank " + std::to_string(rank) + " did not come",
                               "check its output");
        }
        dtutils::sleep_for(std::chrono::microseconds(100));
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
  /// Ends this process as SIGKILL does; a node crashes. Any thread.
  [[noreturn]] void die() const noexcept {
    if (dtutils::Simulation* const simulation = dtutils::Simulation::current()) {
      simulation->crash(simulation->node());
      end_node(memory.letters, wakes, rank);
    } else {
      ::kill(getpid(), SIGKILL);
    }
    for (;;) dtutils::sleep_for(std::chrono::hours(1));
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

/// Runs `body` in `size` forked processes; on the simulated device, in as many nodes. Make it
/// before this process opens a device. Members die with the test.
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
    for (std::uint32_t rank = 0; rank < size && on_simulated_device(); ++rank) {
      memory_->letters.nodes[rank] = SimulatedNode::next();
    }
    for (std::uint32_t rank = 0; rank < size; ++rank) start(rank, size, body);
  }
  ForkJob(const ForkJob&) = delete;
  ForkJob& operator=(const ForkJob&) = delete;
  ~ForkJob() {
    members_.clear();
    for (const int wake : wakes_) close(wake);
    munmap(memory_, sizeof(JobMemory));
  }

  JobMemory& memory() { return *memory_; }
  void kill(std::uint32_t rank) { members_[rank]->kill(); }
  /// Takes the member off its core, and gives it back. None of its threads runs between.
  void stop(std::uint32_t rank) { members_[rank]->stop(); }
  void resume(std::uint32_t rank) { members_[rank]->resume(); }
  /// Waits for all; one text for each that did not end well, "rank: what". A member that still runs
  /// after `limit`, kSlowdown times, is killed and named.
  std::string wait(std::chrono::milliseconds limit = std::chrono::seconds(30)) {
    const auto end = dtutils::Clock::now() + kSlowdown * limit;
    std::string bad;
    for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
      RunningMember& member = *members_[rank];
      while (!member.ended() && dtutils::Clock::now() <= end) {
        dtutils::sleep_for(std::chrono::milliseconds(1));
      }
      if (!member.ended()) {
        member.kill();
        bad += std::to_string(rank) + ": still ran after the limit\n";
      } else if (const auto [signal, status] = member.how(); signal != 0) {
        bad += std::to_string(rank) + ": signal " + std::to_string(signal) + "\n";
      } else if (status != 0) {
        bad += std::to_string(rank) + ": " + memory_->processes[rank].error + "\n";
      }
    }
    return bad;
  }

 private:
  void start(std::uint32_t rank, std::uint32_t size, const Body& body) {
    const auto life = [memory = memory_, wakes = wakes_, rank, size, body] {
      return live({rank, size, *memory, wakes}, body);
    };
    if (on_simulated_device()) {
      const auto gone = [memory = memory_, wakes = wakes_, rank] {
        end_node(memory->letters, wakes, rank);
      };
      members_.push_back(std::make_unique<SimulatedNode>(memory_->letters.nodes[rank], life, gone));
    } else {
      members_.push_back(std::make_unique<ForkedProcess>(life));
    }
  }
  static int live(Member member, const Body& body) noexcept {
    member.memory.letters.pids[member.rank] = getpid();
    const auto tell = [&](const char* what) {
      std::strncpy(member.memory.processes[member.rank].error, what,
                   sizeof(JobMemory::Process::error) - 1);
      return 1;
    };
    try {
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
  std::vector<std::unique_ptr<RunningMember>> members_;
};

}  // namespace support
