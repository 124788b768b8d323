// SPDX-License-Identifier: MIT
// The shared data of a job, as one process gives and sees it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "dsfabric/fabric.hpp"
#include "memory/space.hpp"

namespace sharing {

namespace detail {
class Node;
class HostCache;
}  // namespace detail

/// The same in all processes of the job, except for `clock`.
struct SpaceOptions {
  /// Memory that each process gives.
  std::size_t bytes = std::size_t{16} << 20;
  /// Pieces of shared data at each process, at most.
  std::uint32_t data = 1024;
  /// Pieces that each host keeps copies of.
  std::uint32_t cached = 1024;
  /// Larger ones are not kept.
  std::uint32_t cached_bytes = 4096;
  /// What the model kTemporal counts by, for tests; nullptr: dtutils::Clock.
  std::chrono::nanoseconds (*clock)() = nullptr;
};

/// Named pieces of memory of all processes of the job. Processes of one host have one cache of
/// them, in memory that they share: the process of the host with the lowest number, its *leader*,
/// gives it.
///
/// Made by all processes at the same time, after join() and outside of run(), in the same order as
/// other such objects (a collective of the launcher).
class Space {
 public:
  /// Throws Error when memory is exhausted, the options of the processes differ, a process has no
  /// service thread, or the memory of the leader cannot be mapped. Setup only.
  explicit Space(dsfabric::Fabric& fabric, const SpaceOptions& options = {});
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  ~Space();

  /// The fabric that it was made on. Any thread, wait-free.
  dsfabric::Fabric& fabric() const noexcept { return fabric_; }
  /// As given. Any thread, wait-free.
  const SpaceOptions& options() const noexcept { return options_; }
  /// For Client.
  memory::Space& memory() noexcept { return memory_; }
  /// For Client.
  detail::Node& node() noexcept { return *node_; }
  /// For Client.
  detail::HostCache& host() noexcept { return *host_; }

 private:
  dsfabric::Fabric& fabric_;
  SpaceOptions options_;
  memory::Space memory_;
  std::shared_ptr<detail::Node> node_;
  std::shared_ptr<detail::HostCache> host_;
};

}  // namespace sharing
