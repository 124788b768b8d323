// SPDX-License-Identifier: MIT
// What processes exchange while they join: who they are, and what each has.
#include "mesh/meeting.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bootstrap/own_host_name.hpp"
#include "dtutils/error.hpp"
#include "job/bytes.hpp"
#include "job/job_limits.hpp"
#include "mesh/introduction.hpp"
#include "mesh/newcomer.hpp"

namespace dsfabric {

void require_equal(std::uint64_t mine, std::uint64_t theirs, std::size_t rank,
                   std::string_view what) {
  if (mine != theirs) {
    throw dtutils::Error(fmt::format("process {}", rank),
                         fmt::format("its {} is {}, but here it is {}", what, theirs, mine),
                         "start all processes with the same settings, from the same build");
  }
}

namespace {

/// The same for processes that share the same cores.
std::uint64_t hash_of(const std::vector<PlacedCore>& cores) noexcept {
  std::uint64_t hash = 0;
  for (const PlacedCore& core : cores) hash = hash * 31 + static_cast<std::uint64_t>(core.core) + 1;
  return hash;
}

/// The number of this process among those of its machine that have the same
/// cores.
struct Share {
  std::uint32_t number = 0;
  std::uint32_t of = 0;
};

/// First who shares a machine with whom.
Share exchange_hellos(SharedBootstrap& bootstrap, const dtutils::DeviceInfo& device,
                      const Config& config, std::uint64_t cores_hash, std::vector<Member>& all,
                      std::map<std::uint64_t, MachineId>& machines) {
  ByteWriter hello;
  hello.value(kProtocolVersion);
  hello.value(device.host);
  hello.value(cores_hash);
  hello.value(static_cast<std::uint32_t>(device.kind));
  hello.value(std::uint64_t{config.receive_size});
  hello.value(config.queue_pairs);
  hello.value(config.max_connections);
  hello.value(static_cast<std::uint32_t>(getpid()));
  hello.text(rendezvous::own_host_name());

  Share share;
  const auto hellos = bootstrap.all_gather(hello.bytes(), config.start_timeout);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    ByteReader reader(hellos[rank]);
    require_equal(kProtocolVersion, reader.value<std::uint32_t>(), rank, "protocol version");
    const auto host = reader.value<std::uint64_t>();
    const auto their_cores = reader.value<std::uint64_t>();
    require_equal(static_cast<std::uint32_t>(device.kind), reader.value<std::uint32_t>(), rank,
                  "kind of device (1: verbs, 2: shm)");
    require_equal(config.receive_size, reader.value<std::uint64_t>(), rank, "setting receive_size");
    require_equal(config.queue_pairs, reader.value<std::uint32_t>(), rank, "setting queue_pairs");
    require_equal(config.max_connections, reader.value<std::uint32_t>(), rank,
                  "setting max_connections");
    Member& member = all[rank];
    member.site.machine =
        machines.try_emplace(host, MachineId{static_cast<std::uint16_t>(machines.size())})
            .first->second;
    member.pid = reader.value<std::uint32_t>();
    member.site.host = reader.text();
    if (host == device.host && their_cores == cores_hash) {
      ++share.of;
      share.number += rank < bootstrap.rank();
    }
  }
  return share;
}

/// Then what each makes of its share.
void exchange_placements(SharedBootstrap& bootstrap, const Config& config,
                         const Placement& placement, std::vector<Member>& all) {
  ByteWriter mine;
  mine.value(config.service_threads);
  mine.list(placement.worker_zones);
  mine.list(placement.zones);
  const auto placements = bootstrap.all_gather(mine.bytes(), config.start_timeout);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    ByteReader reader(placements[rank]);
    Site& site = all[rank].site;
    site.service_threads = reader.value<std::uint32_t>();
    site.worker_zones = reader.list<dtutils::NumaZone>();
    site.zones = reader.list<dtutils::NumaZone>();
  }
}

}  // namespace

std::unique_ptr<dtutils::Device> open_device(const Config& config) {
  dtutils::DeviceOptions options;
  if (config.port != 0) options.port = static_cast<std::uint8_t>(config.port);
  if (config.gid_index >= 0) options.gid_index = config.gid_index;
  return dtutils::open_device(config.device, options);
}

void Meeting::add(ProcessId process, std::span<const std::byte> introduction) {
  Introduction newcomer(introduction);
  newcomer.member.site.machine =
      machines.try_emplace(newcomer.host, MachineId{static_cast<std::uint16_t>(machines.size())})
          .first->second;
  members->add(process, std::move(newcomer.member));
}

Meeting meet(SharedBootstrap& bootstrap, const dtutils::DeviceInfo& device, const Config& config) {
  if (bootstrap.rank() >= bootstrap.size()) return meet_as_newcomer(bootstrap, device, config);
  const std::vector<PlacedCore> cores = allowed_cores(config);
  std::vector<Member> all(bootstrap.size());
  std::map<std::uint64_t, MachineId> machines;
  const Share share = exchange_hellos(bootstrap, device, config, hash_of(cores), all, machines);
  Placement placement = place_workers(config, cores, share.number, share.of);
  exchange_placements(bootstrap, config, placement, all);
  const ProcessId self{static_cast<std::uint16_t>(bootstrap.rank())};
  if (ElasticJob* const elastic = bootstrap.elastic()) {
    elastic->introduce(Introduction(device, config, all[self.value]).bytes().bytes());
  }
  const auto count = static_cast<std::uint32_t>(machines.size());
  return {std::make_unique<Members>(self, std::move(all), count, bootstrap.capacity()),
          std::move(machines),
          std::move(placement),
          {}};
}

Config with_queue_pairs(Config config, const Members& members) noexcept {
  // Two workers that share one wait for each other, and for its lines in the
  // cache. More than a few cost a network adapter its cache of connections.
  if (config.queue_pairs == 0) {
    config.queue_pairs = std::min(members.max_threads(), kMaxQueuePairs);
  }
  if (members.capacity() > members.founders()) config.elastic = members.capacity();
  return config;
}

Config with_max_connections(Config config, const dtutils::DeviceInfo& device) noexcept {
  if (config.max_connections == 0) {
    // One row is to the process itself, and one queue pair stands for what is broken.
    const std::uint32_t rows = (device.max_queue_pairs - 1) / std::max(config.queue_pairs, 1u);
    config.max_connections = std::clamp(rows, 2u, kMaxConnections + 1) - 1;
  }
  return config;
}

}  // namespace dsfabric
