// SPDX-License-Identifier: MIT
// Which port, GID and MTU a verbs device uses, decided over plain data so that no device is needed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dtutils/device.hpp"

namespace dtutils::verbs {

/// One filled entry of a port's GID table.
struct GidFacts {
  int index;
  ibv_gid gid;
  ibv_gid_type type;
};

/// What a device says about one of its ports.
struct PortFacts {
  std::uint8_t number;
  ibv_port_state state;
  /// IBV_LINK_LAYER_INFINIBAND or IBV_LINK_LAYER_ETHERNET.
  int link_layer;
  std::uint16_t lid;
  ibv_mtu active_mtu;
  std::vector<GidFacts> gids;
};

struct EndpointChoice {
  std::uint8_t port;
  std::uint16_t lid;
  int gid_index;
  ibv_gid gid;
  ibv_mtu mtu;
  int link_layer;
  /// "port 1: the first active one; GID 1 (::ffff:10.0.0.1): RoCE v2 ...; MTU 1024: ..."
  std::string reason;
};

/// Chooses as `DeviceOptions` describes; what the user fixed is checked, not replaced. Throws Error
/// on `device`: no such port, port not active, no or no such GID, MTU not a path MTU or larger than
/// the active one. Setup only.
EndpointChoice choose_endpoint(std::string_view device, std::span<const PortFacts> ports,
                               const DeviceOptions& options);

/// "port 1 active, RoCE v2", for lists of devices.
std::string describe(const PortFacts& port);

/// "::ffff:10.0.0.1", "fe80::1:2", ...
std::string to_string(const ibv_gid& gid);
/// Path MTU in bytes.
int bytes(ibv_mtu mtu) noexcept;

}  // namespace dtutils::verbs
