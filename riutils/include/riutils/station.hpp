// SPDX-License-Identifier: MIT
// What one worker has of rings: those it sends into, and the receiver of those that lead to it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "dsfabric/thread.hpp"
#include "riutils/counters.hpp"
#include "riutils/options.hpp"
#include "riutils/outgoing_ring.hpp"
#include "riutils/receiver.hpp"

namespace riutils {

/// One for each worker of the process, made when somebody first asks. Its rings live as long as the
/// fabric: channels (RDMAMessenger, ...) come and go, and calls of one thread to another keep their
/// order across them.
///
/// From `of` until the Thread ends, Thread::progress() sends what waits here and polls the
/// receiver. Owner thread only, unless a method says otherwise.
class Station {
 public:
  /// The station of a worker. Setup only.
  static Station& of(dsfabric::Thread& self);

  explicit Station(dsfabric::Fabric& fabric);
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;
  ~Station();

  dsfabric::Fabric& fabric() const noexcept { return fabric_; }
  /// The worker, while it lives.
  dsfabric::Thread& thread() const noexcept { return *thread_; }
  Receiver& receiver() noexcept { return receiver_; }
  /// Who polls the receiver: a helper thread (true), or progress() of this worker. Setup only.
  void delegate(bool to_helper) noexcept { delegated_ = to_helper; }

  /// The ring to a thread, if there is one. The common part of a call.
  OutgoingRing* find(dsfabric::ThreadId to) const noexcept {
    if (to.process.value >= processes_ || to.index >> shift_ != 0) return nullptr;
    return table_[std::size_t{to.process.value} << shift_ | to.index].get();
  }
  /// The same, made if need be. Throws Error when there is no such thread, or no memory.
  OutgoingRing& ring(dsfabric::ThreadId to, const RingOptions& options);

  /// Sends what is gathered and held, as far as there is room, and never waits. True when nothing
  /// is left. progress() goes on with the rest.
  bool flush() noexcept;
  /// Calls that this worker has made through rings, sent or not; and calls of others that have run
  /// here (any thread, wait-free).
  std::uint64_t issued() const noexcept;
  std::uint64_t executed() const noexcept { return receiver_.executed(); }
  /// Setup only.
  Counters counters() const;

  /// For rings: look at this one in each progress() until its attend() answers false.
  void attend_to(OutgoingRing& ring);
  /// Grows by one in half of the longest time that gathered calls may wait.
  std::uint64_t epoch() const noexcept { return epoch_; }
  /// For channels: gathered calls wait no longer than this.
  void limit_age(std::chrono::nanoseconds age) noexcept { max_age_ = std::min(max_age_, age); }

 private:
  bool step();
  bool look_after() noexcept;

  dsfabric::Fabric& fabric_;
  dsfabric::Thread* thread_ = nullptr;
  const std::uint32_t processes_;
  std::uint32_t shift_ = 0;
  std::unique_ptr<std::unique_ptr<OutgoingRing>[]> table_;
  std::vector<OutgoingRing*> rings_;
  /// Those that wait for something.
  std::vector<OutgoingRing*> attended_;
  std::uint32_t steps_ = 0;
  std::uint64_t epoch_ = 0;
  bool delegated_ = false;
  std::chrono::nanoseconds max_age_{std::chrono::microseconds{50}};
  std::chrono::steady_clock::time_point looked_;
  Receiver receiver_;
};

}  // namespace riutils
