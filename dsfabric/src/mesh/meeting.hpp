// SPDX-License-Identifier: MIT
// How the processes of a job tell each other who they are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "bootstrap/shared_bootstrap.hpp"
#include "dsfabric/config.hpp"
#include "dsfabric/elastic_job.hpp"
#include "dtutils/device.hpp"
#include "job/members.hpp"
#include "job/placement.hpp"

namespace dsfabric {

/// The device that the settings name. Throws Error. Setup only.
std::unique_ptr<dtutils::Device> open_device(const Config& config);

/// What a process knows once all have met.
struct Meeting {
  std::unique_ptr<Members> members;
  /// By the host of a device.
  std::map<std::uint64_t, MachineId> machines;
  /// Of its own workers.
  Placement placement;
  /// Of an elastic job: ends of members before this process came.
  std::vector<JobEvent> past;

  /// A newcomer has introduced itself by these bytes. Throws Error when they make no sense. One
  /// thread at a time; setup only.
  void add(ProcessId process, std::span<const std::byte> introduction);
};

/// Tells who this process is, and hears who the others are. Throws Error when they do not come, or
/// when something differs that must not. A collective of all processes; setup only.
Meeting meet(SharedBootstrap& bootstrap, const dtutils::DeviceInfo& device, const Config& config);

/// The settings, with queue_pairs filled in.
Config with_queue_pairs(Config config, const Members& members) noexcept;
/// The settings, whose queue_pairs are known, with max_connections filled in.
Config with_max_connections(Config config, const dtutils::DeviceInfo& device) noexcept;

}  // namespace dsfabric
