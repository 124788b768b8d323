// SPDX-License-Identifier: MIT
// Introduction: to bytes and back.
#include "mesh/introduction.hpp"

#include <utility>

namespace dsfabric {

Introduction::Introduction(const dtutils::DeviceInfo& its_device, const Config& config,
                           Member its_member)
    : host(its_device.host),
      device(static_cast<std::uint32_t>(its_device.kind)),
      receive_size(config.receive_size),
      queue_pairs(config.queue_pairs),
      max_connections(config.max_connections),
      member(std::move(its_member)) {}

Introduction::Introduction(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  host = reader.value<std::uint64_t>();
  device = reader.value<std::uint32_t>();
  receive_size = reader.value<std::uint64_t>();
  queue_pairs = reader.value<std::uint32_t>();
  max_connections = reader.value<std::uint32_t>();
  member.pid = reader.value<std::uint32_t>();
  member.site.host = reader.text();
  member.site.service_threads = reader.value<std::uint32_t>();
  member.site.worker_zones = reader.list<dtutils::NumaZone>();
  member.site.zones = reader.list<dtutils::NumaZone>();
}

ByteWriter Introduction::bytes() const {
  ByteWriter writer;
  writer.value(host);
  writer.value(device);
  writer.value(receive_size);
  writer.value(queue_pairs);
  writer.value(max_connections);
  writer.value(member.pid);
  writer.text(member.site.host);
  writer.value(member.site.service_threads);
  writer.list(member.site.worker_zones);
  writer.list(member.site.zones);
  return writer;
}

}  // namespace dsfabric
