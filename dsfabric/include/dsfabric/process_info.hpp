// SPDX-License-Identifier: MIT
// What each process knows of each process of its job.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "dsfabric/ids.hpp"
#include "dtutils/numa.hpp"

namespace dsfabric {

/// What is known of a process of the job; the same at every process. Zones and host are of the
/// Fabric, which processes that are alike share there.
struct ProcessInfo {
  /// Its rank.
  ProcessId id;
  /// The machine that it runs on.
  MachineId machine;
  /// Number of its workers.
  std::uint32_t threads;
  /// Number of its service threads.
  std::uint32_t service_threads;
  /// The NUMA zones it takes memory from, first the default one.
  std::span<const dtutils::NumaZone> zones;
  /// Its number in its operating system.
  std::uint32_t pid;
  /// The name of its host.
  std::string_view host;
};

/// Whether a process takes part. It never changes back.
enum class PeerState : std::uint8_t {
  /// It takes part.
  kActive,
  /// It ended in order: its Fabric was destroyed.
  kLeft,
  /// It crashed, cannot be reached, or broke a protocol; see Fabric::failure_reason.
  kFailed,
};

}  // namespace dsfabric
