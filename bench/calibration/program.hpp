// SPDX-License-Identifier: MIT
// The two-node program that runs unchanged on a verbs device and in a simulation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "dtutils/memory_region.hpp"
#include "dtutils/queue_pair.hpp"
#include "dtutils/shared_segment.hpp"

namespace calibration {

enum class Operation : std::uint8_t { kWrite, kRead, kFetchAndAdd, kSend };

/// What is measured: `rounds` operations of `bytes` bytes, which either wait for each other, or go
/// out as a stream.
struct Figure {
  const char* name;
  Operation operation;
  std::uint32_t bytes;
  std::uint64_t rounds;
  bool stream = false;
};

/// One end. Both make theirs, tell each other endpoint() and memory(), and connect. Owner thread
/// only.
class Node {
 public:
  /// Opens the device of that name; in a simulated thread, the adapter of its node. Throws Error.
  explicit Node(const std::string& device);

  dtutils::Endpoint endpoint() const { return qp_.endpoint(); }
  dtutils::RemoteMemoryLocator memory() const noexcept { return region_.remote(); }
  /// Bytes of a packet of its port.
  std::uint32_t mtu() const noexcept { return 128u << device_->info().mtu; }
  void connect(const dtutils::Endpoint& peer, const dtutils::RemoteMemoryLocator& memory);

  /// Before each measurement, at both ends; the peer must not send before it has returned.
  void prepare(const Figure& figure);
  /// Nanoseconds an operation, a median: of a stream, between two completions, as long as the queue
  /// is full; of a send, half of the time until another one answers it; of what the peer takes no
  /// part in, the time to the completion.
  double measure(const Figure& figure);
  /// What the peer does meanwhile.
  void assist(const Figure& figure);

 private:
  dtutils::PostResult post(const Figure& figure, std::uint64_t id, unsigned flags) noexcept;
  double stream(const Figure& figure);

  std::unique_ptr<dtutils::Device> device_;
  dtutils::ProtectionDomain pd_;
  dtutils::SharedSegment segment_;
  dtutils::MemoryRegion region_;
  dtutils::CompletionQueue sends_;
  dtutils::CompletionQueue receives_;
  dtutils::QueuePair qp_;
  dtutils::RemoteMemoryLocator there_{};
};

}  // namespace calibration
