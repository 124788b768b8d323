// SPDX-License-Identifier: MIT
// The global memory of a job, as one process gives and sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "memory/options.hpp"

namespace memory {

namespace detail {
class ClientCore;
struct SpaceState;
}  // namespace detail

/// Memory of all processes of the job in which segments can be allocated from everywhere. Each
/// process gives SpaceOptions::bytes in each of its zones, and is the *home* of the segments there:
/// it alone decides who holds their locks, and takes the locks of processes that it regards as
/// failed, after the fabric has cut their connections to it (Fabric::on_failure).
///
/// Made by all processes at the same time, after join() and outside of run(), in the same order as
/// other such objects (a collective of the launcher). The memory stays until the Fabric leaves the
/// job, so requests that come late find it; the Space itself may go before.
class Space {
 public:
  /// Throws Error when memory is exhausted, when the device has no atomics, or when a process has
  /// given other options or has another version of this library. Setup only.
  explicit Space(dsfabric::Fabric& fabric, const SpaceOptions& options = {});
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  ~Space();

  /// The fabric that it was made on. Any thread, wait-free.
  dsfabric::Fabric& fabric() const noexcept;
  /// As it was made. Any thread, wait-free.
  const SpaceOptions& options() const noexcept;

  /// What the causal requests (WriteOptions::causal) of this process that follow come after: how
  /// many causal requests each process has made to each home, as far as this process knows. Send it
  /// along with a message whose receiver is to write after what this process has written. Any
  /// thread (takes a lock).
  std::vector<std::uint64_t> clock() const;
  /// This process has received such a clock: its causal requests from now on come after those that
  /// the clock counts. Throws Error when it is no clock of this job. Any thread (takes a lock).
  void observe(std::span<const std::uint64_t> clock);

  /// Bytes of this process that segments take, and how many segments there are. Any thread (takes a
  /// lock).
  std::uint64_t bytes_in_use() const;
  /// Segments of this process. Any thread (takes a lock).
  std::uint64_t segments() const;

 private:
  friend class detail::ClientCore;
  std::shared_ptr<detail::SpaceState> state_;
};

}  // namespace memory
