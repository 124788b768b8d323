// SPDX-License-Identifier: MIT
// The queue pairs of this process to each process of the job, itself included.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dsfabric/config.hpp"
#include "dsfabric/ids.hpp"
#include "dtutils/transmitter.hpp"
#include "mesh/receive_queue.hpp"
#include "threads/thread_context.hpp"

namespace dsfabric {

/// Takes the queue pair to the error state, and polls until Synchronizers and
/// memory tags of everything outstanding have heard of it. Any thread that may
/// use the Transmitter.
void break_connection(dtutils::Transmitter& transmitter) noexcept;

/// Config::queue_pairs Transmitters to each process: thread context i uses
/// number i modulo their count. Any thread, wait-free, where nothing else is
/// said.
class Connections {
 public:
  using Transmitters = std::span<const std::unique_ptr<dtutils::Transmitter>>;

  /// To `processes` processes; at most `sharing_threads` threads use one
  /// Transmitter at once. Setup only.
  Connections(dtutils::ProtectionDomain& pd, ReceiveQueue& receive_queue, const Config& config,
              std::uint32_t processes, std::uint32_t sharing_threads);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// What a process needs to connect to this one. Setup only.
  std::vector<dtutils::Endpoint> endpoints(ProcessId from) const;
  /// Connects to a process that has given these. Setup only.
  void connect(ProcessId to, std::span<const dtutils::Endpoint> endpoints);

  dtutils::Transmitter& of(const ThreadContext& context, ProcessId to) noexcept {
    const std::size_t first = std::size_t{to.value} * queue_pairs_;
    return *all_[queue_pairs_ == 1 ? first : first + context.number % queue_pairs_];
  }
  Transmitters to(ProcessId to) const noexcept {
    return Transmitters(all_).subspan(std::size_t{to.value} * queue_pairs_, queue_pairs_);
  }
  std::uint32_t queue_pairs() const noexcept { return queue_pairs_; }
  std::uint32_t sharing_threads() const noexcept { return sharing_threads_; }

  /// Whether the queue pair of that number is one to `process`.
  bool leads_to(ProcessId process, std::uint32_t queue_pair) const noexcept;
  /// The process that the queue pair of that number leads to.
  std::optional<ProcessId> find(std::uint32_t queue_pair) const noexcept;

  /// Some connection to the process is broken, or about to be.
  bool broken(ProcessId process) const noexcept;
  /// What broke it: "its connection broke: ...".
  std::string why_broken(ProcessId process) const;
  /// Breaks the connections to a process.
  void break_off(ProcessId process) noexcept;
  /// Lets what was posted end, and breaks what does not within `limit`. Setup
  /// only.
  void finish(std::chrono::milliseconds limit) noexcept;

 private:
  std::uint32_t queue_pairs_;
  std::uint32_t sharing_threads_;
  std::vector<std::unique_ptr<dtutils::Transmitter>> all_;
};

}  // namespace dsfabric
