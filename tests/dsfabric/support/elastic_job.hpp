// SPDX-License-Identifier: MIT
// Elastic jobs of forked processes, which come and go while the rendezvous runs in one of its own.
#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "dsfabric/rendezvous_server.hpp"
#include "dsfabric/support/running_member.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/device_under_test.hpp"
#include "support/require.hpp"

namespace support {

/// What all processes of a test share.
struct ElasticMemory {
  static constexpr std::size_t kProcesses = 512;
  static constexpr std::size_t kEvents = 1024;
  static constexpr std::size_t kCalls = 4096;
  std::atomic<std::uint64_t> words[512];
  char errors[kProcesses][1024];
  /// What the upcalls of each process have said, in their order, by its number in the job.
  std::uint32_t events[kProcesses][kEvents];
  std::atomic<std::uint32_t> event_counts[kProcesses];
  /// How often calls ran, by the caller's number in the job and the number of the call.
  std::atomic<std::uint8_t> runs[kProcesses][kCalls];
};

enum class Heard : std::uint32_t { kJoin = 1, kLeave = 2, kFailure = 3 };
inline std::uint32_t event_of(Heard what, std::uint32_t process) {
  return static_cast<std::uint32_t>(what) << 16 | process;
}

/// Writes down what the fabric's upcalls say.
inline void note_events(dsfabric::Fabric& fabric, ElasticMemory& memory) {
  const std::uint32_t self = fabric.process().value;
  const auto note = [&memory, self](Heard what, dsfabric::ProcessId process) {
    const std::uint32_t at = memory.event_counts[self].load(std::memory_order_relaxed);
    memory.events[self][at % ElasticMemory::kEvents] = event_of(what, process.value);
    memory.event_counts[self].store(at + 1, std::memory_order_release);
  };
  fabric.on_change({[note](dsfabric::ProcessId process) { note(Heard::kJoin, process); },
                    [note](dsfabric::ProcessId process) { note(Heard::kLeave, process); },
                    [note](dsfabric::ProcessId process, const std::string&) {
                      note(Heard::kFailure, process);
                    }});
}

/// Begins with its founders; then processes are started, killed and awaited one by one. Make it
/// before this process opens a device. All die with the test.
class ElasticForkJob {
 public:
  using Body = std::function<void(dsfabric::Fabric&, ElasticMemory&)>;

  ElasticForkJob(std::uint32_t founders, std::uint32_t capacity, const Body& body)
      : memory_(new(mmap(nullptr, sizeof(ElasticMemory), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)) ElasticMemory),
        server_(founders, "127.0.0.1", 0, capacity),
        launcher_(std::make_unique<ForkedProcess>([this] {
          for (;;) {
            std::vector<pollfd> watched;
            server_.watch(watched);
            poll(watched.data(), watched.size(), 50);
            server_.handle(watched);
          }
          return 0;
        })) {
    for (std::uint32_t rank = 0; rank < founders; ++rank) start(server_.environment(rank), body);
  }
  ElasticForkJob(const ElasticForkJob&) = delete;
  ElasticForkJob& operator=(const ElasticForkJob&) = delete;
  ~ElasticForkJob() {
    members_.clear();
    launcher_.reset();
    munmap(memory_, sizeof(ElasticMemory));
  }

  ElasticMemory& memory() noexcept { return *memory_; }
  /// One more process; the number by which this object knows it.
  std::size_t add(const Body& body, std::vector<std::string> settings = {}) {
    for (std::string& each : dsfabric::RendezvousServer::newcomer_environment(server_.address())) {
      settings.push_back(std::move(each));
    }
    return start(settings, body);
  }
  void kill(std::size_t member) { members_[member]->kill(); }
  void stop(std::size_t member) { members_[member]->stop(); }
  void resume(std::size_t member) { members_[member]->resume(); }
  void kill_launcher() { launcher_->kill(); }
  std::size_t started() const noexcept { return members_.size(); }
  /// How it ended: empty when all went well, "killed", or what it said.
  std::string wait(std::size_t member, std::chrono::milliseconds limit = std::chrono::seconds(30)) {
    RunningMember& running = *members_[member];
    const bool ended = eventually([&] { return running.ended(); }, kSlowdown * limit);
    if (!ended) {
      running.kill();
      return "still ran after the limit";
    }
    const auto [signal, status] = running.how();
    if (signal == SIGKILL) return "killed";
    if (signal != 0) return "signal " + std::to_string(signal);
    return status == 0 ? "" : memory_->errors[member];
  }

 private:
  std::size_t start(const std::vector<std::string>& environment, const Body& body) {
    const std::size_t index = members_.size();
    members_.push_back(std::make_unique<ForkedProcess>(
        [this, index, &environment, &body] { return live(index, environment, body); }));
    return index;
  }
  int live(std::size_t index, const std::vector<std::string>& environment, const Body& body) {
    const auto tell = [&](const char* what) {
      std::strncpy(memory_->errors[index], what, sizeof memory_->errors[index] - 1);
      return 1;
    };
    try {
      for (const std::string& each : environment) {
        const std::size_t equals = each.find('=');
        setenv(each.substr(0, equals).c_str(), each.substr(equals + 1).c_str(), 1);
      }
      setenv(dsfabric::RendezvousServer::kSecretVariable, server_.secret().c_str(), 0);
      dsfabric::Config config;
      config.device = device_name();
      config.threads = 1;
      config.pin = false;
      dsfabric::Fabric fabric = dsfabric::join(config);
      body(fabric, *memory_);
      return 0;
    } catch (const std::exception& error) {
      return tell(error.what());
    } catch (...) {
      return tell("something other than a std::exception");
    }
  }

  ElasticMemory* memory_;
  dsfabric::RendezvousServer server_;
  std::unique_ptr<ForkedProcess> launcher_;
  std::vector<std::unique_ptr<ForkedProcess>> members_;
};

/// Runs `work` on the one worker; ends the process by an Error when what is awaited does not come.
inline void serve_while(dsfabric::Thread& self, const std::function<bool()>& condition) {
  dtutils::Deadline deadline(std::chrono::seconds(25) * kSlowdown);
  dtutils::Backoff backoff;
  while (condition()) {
    require(!deadline.passed(), "what was awaited did not come");
    self.progress() ? backoff.reset() : backoff.pause();
  }
}

}  // namespace support
