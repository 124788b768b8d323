// SPDX-License-Identifier: MIT
// Chooses port, GID and MTU of a verbs device.
#include "verbs/endpoint_choice.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dtutils/error.hpp"

namespace dtutils::verbs {
namespace {

constexpr std::array kMtus{IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096};

const char* state_in_words(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_DOWN:
      return "down";
    case IBV_PORT_INIT:
      return "initialising (no subnet manager has configured it)";
    case IBV_PORT_ARMED:
      return "armed (the subnet manager has not activated it)";
    case IBV_PORT_ACTIVE:
      return "active";
    case IBV_PORT_ACTIVE_DEFER:
      return "active, deferred";
    default:
      return "without a state";
  }
}

bool is_ipv4_mapped(const ibv_gid& gid) {
  return gid.global.subnet_prefix == 0 && gid.raw[8] == 0 && gid.raw[9] == 0 &&
         gid.raw[10] == 0xff && gid.raw[11] == 0xff;
}

bool is_link_local(const ibv_gid& gid) { return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80; }

/// Smaller is better; the order that DeviceOptions::gid_index promises.
int rank(const GidFacts& entry) {
  if (entry.type == IBV_GID_TYPE_ROCE_V2) {
    if (is_ipv4_mapped(entry.gid)) return 0;
    return is_link_local(entry.gid) ? 2 : 1;
  }
  return 3;
}

const char* kind_in_words(const GidFacts& entry) {
  if (entry.type == IBV_GID_TYPE_IB) return "InfiniBand";
  if (entry.type == IBV_GID_TYPE_ROCE_V1) return "RoCE v1";
  if (is_ipv4_mapped(entry.gid)) return "RoCE v2 over IPv4";
  return is_link_local(entry.gid) ? "RoCE v2, link-local" : "RoCE v2";
}

std::string list(std::span<const PortFacts> ports) {
  std::string text;
  for (const PortFacts& port : ports) {
    text += (text.empty() ? "" : "; ") + describe(port);
  }
  return text.empty() ? "the device has no port" : text;
}

std::string list(std::span<const GidFacts> gids) {
  std::string text;
  for (const GidFacts& entry : gids) {
    text += fmt::format("{}{} ({}, {})", text.empty() ? "" : "; ", entry.index,
                        to_string(entry.gid), kind_in_words(entry));
  }
  return text.empty() ? "none" : text;
}

std::string remedy_for_inactive(const PortFacts& port) {
  if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
    return "bring its network interface up (`rdma link` names it; `ip link set <interface> up`) "
           "and "
           "check the cable";
  }
  return "check the cable and that a subnet manager runs (`systemctl status opensm`, `ibstat`)";
}

const PortFacts& choose_port(std::string_view device, std::span<const PortFacts> ports,
                             const DeviceOptions& options, std::string& reason) {
  if (options.port) {
    const auto port = std::ranges::find(ports, *options.port, &PortFacts::number);
    if (port == ports.end()) {
      throw Error(device, fmt::format("there is no port {}", *options.port),
                  fmt::format("choose one of: {}", list(ports)));
    }
    if (port->state != IBV_PORT_ACTIVE) {
      throw Error(device, fmt::format("port {} is {}", port->number, state_in_words(port->state)),
                  remedy_for_inactive(*port) + ", or leave the choice of the port to the device");
    }
    reason = fmt::format("port {}: as asked", port->number);
    return *port;
  }
  const auto port = std::ranges::find(ports, IBV_PORT_ACTIVE, &PortFacts::state);
  if (port == ports.end()) {
    throw Error(device, fmt::format("no port is active: {}", list(ports)),
                ports.empty() ? "use another device, or `shm` for processes of one host"
                              : remedy_for_inactive(ports.front()));
  }
  reason = fmt::format("port {}: {}", port->number,
                       ports.size() == 1 ? "the only one" : "the first active one");
  return *port;
}

const GidFacts& choose_gid(std::string_view device, const PortFacts& port,
                           const DeviceOptions& options, std::string& reason) {
  if (options.gid_index) {
    const auto entry = std::ranges::find(port.gids, *options.gid_index, &GidFacts::index);
    if (entry == port.gids.end()) {
      throw Error(device,
                  fmt::format("entry {} of the GID table of port {} is empty", *options.gid_index,
                              port.number),
                  fmt::format("filled entries: {}", list(port.gids)));
    }
    reason += fmt::format("; GID {} ({}, {}): as asked", entry->index, to_string(entry->gid),
                          kind_in_words(*entry));
    return *entry;
  }
  if (port.gids.empty()) {
    throw Error(device, fmt::format("the GID table of port {} is empty", port.number),
                "give its network interface an address (`ip addr add 10.0.0.1/24 dev <interface>`; "
                "`rdma link` names it)");
  }
  if (port.link_layer == IBV_LINK_LAYER_INFINIBAND) {
    const auto entry = std::ranges::min_element(port.gids, {}, &GidFacts::index);
    reason += fmt::format("; LID {}, GID {} ({}): InfiniBand", port.lid, entry->index,
                          to_string(entry->gid));
    return *entry;
  }
  const auto entry = std::ranges::min_element(port.gids, {}, [](const GidFacts& one) {
    return std::pair{rank(one), one.index};
  });
  reason += fmt::format("; GID {} ({}): {}, the best of {}", entry->index, to_string(entry->gid),
                        kind_in_words(*entry), port.gids.size());
  return *entry;
}

ibv_mtu choose_mtu(std::string_view device, const PortFacts& port, const DeviceOptions& options,
                   std::string& reason) {
  if (!options.mtu) {
    reason += fmt::format("; MTU {}: the active one", bytes(port.active_mtu));
    return port.active_mtu;
  }
  const auto mtu = std::ranges::find(kMtus, *options.mtu, &bytes);
  if (mtu == kMtus.end()) {
    throw Error(device, fmt::format("{} bytes is not a path MTU", *options.mtu),
                "choose 256, 512, 1024, 2048 or 4096");
  }
  if (*mtu > port.active_mtu) {
    throw Error(device,
                fmt::format("MTU {} is larger than the active MTU {} of port {}", *options.mtu,
                            bytes(port.active_mtu), port.number),
                "choose a smaller one, leave the choice to the device, or raise the MTU of the "
                "network interface on both sides");
  }
  reason += fmt::format("; MTU {}: as asked", *options.mtu);
  return *mtu;
}

}  // namespace

EndpointChoice choose_endpoint(std::string_view device, std::span<const PortFacts> ports,
                               const DeviceOptions& options) {
  EndpointChoice choice{};
  const PortFacts& port = choose_port(device, ports, options, choice.reason);
  const GidFacts& gid = choose_gid(device, port, options, choice.reason);
  choice.mtu = choose_mtu(device, port, options, choice.reason);
  choice.port = port.number;
  choice.lid = port.lid;
  choice.gid_index = gid.index;
  choice.gid = gid.gid;
  choice.link_layer = port.link_layer;
  return choice;
}

std::string describe(const PortFacts& port) {
  std::string text = fmt::format("port {} {}", port.number, state_in_words(port.state));
  if (port.link_layer == IBV_LINK_LAYER_INFINIBAND) return text + ", InfiniBand";
  if (port.gids.empty()) return text + ", no GID";
  return text + ", " + kind_in_words(*std::ranges::min_element(port.gids, {}, rank));
}

std::string to_string(const ibv_gid& gid) {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET6, gid.raw, text, sizeof text);
  return text;
}

int bytes(ibv_mtu mtu) noexcept { return 128 << mtu; }

}  // namespace dtutils::verbs
