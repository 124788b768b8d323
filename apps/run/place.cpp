// SPDX-License-Identifier: MIT
// Hosts, slots and cores.
#include "place.hpp"

#include <fmt/format.h>
#include <numa.h>

#include <algorithm>

#include "dtutils/error.hpp"
#include "dtutils/parse_number.hpp"
#include "dtutils/tcp.hpp"

namespace run {
namespace {

struct Host {
  std::string name;
  std::uint32_t slots;
};

Host parse_host(const std::string& text, std::uint32_t default_slots) {
  const auto colon = text.find(':');
  Host host{text.substr(0, colon), default_slots};
  bool valid = !host.name.empty() && host.name.front() != '-';
  if (colon != std::string::npos) {
    host.slots =
        dtutils::parse_number<std::uint32_t>(std::string_view(text).substr(colon + 1)).value_or(0);
    valid = valid && host.slots > 0;
  }
  if (!valid) {
    throw dtutils::Error("--hosts", fmt::format("\"{}\" is no host", text),
                         "write host or host:processes, as node1:4,node2:4");
  }
  return host;
}

}  // namespace

std::vector<Place> place(const Options& options) {
  std::vector<Place> places;
  if (options.hosts.empty()) {
    for (std::uint32_t i = 0; i < options.processes; ++i) {
      places.push_back({"", i, options.processes});
    }
    return places;
  }
  const auto count = static_cast<std::uint32_t>(options.hosts.size());
  const std::uint32_t share = (options.processes + count - 1) / count;
  std::uint32_t slots = 0;
  for (const std::string& text : options.hosts) {
    const Host host = parse_host(text, share);
    slots += host.slots;
    const std::uint32_t here = std::min<std::uint32_t>(
        host.slots, options.processes - static_cast<std::uint32_t>(places.size()));
    for (std::uint32_t i = 0; i < here; ++i) places.push_back({host.name, i, here});
  }
  if (places.size() < options.processes) {
    throw dtutils::Error(
        "--hosts",
        fmt::format("the hosts hold {} processes, {} were requested", slots, options.processes),
        "name more hosts, or more processes on them (host:processes)");
  }
  return places;
}

std::optional<cpu_set_t> cores_for(const Place& place, Bind bind) {
  cpu_set_t allowed;
  if (bind == Bind::kNone || sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return std::nullopt;
  }
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  if (bind == Bind::kZone && numa_available() >= 0) {
    const int zone = static_cast<int>(place.local_rank) % numa_num_configured_nodes();
    for (const int core : cores) {
      if (numa_node_of_cpu(core) == zone) CPU_SET(core, &chosen);
    }
    return CPU_COUNT(&chosen) != 0 ? std::optional(chosen) : std::nullopt;
  }
  const std::size_t begin = cores.size() * place.local_rank / place.local_size;
  const std::size_t end = cores.size() * (place.local_rank + 1) / place.local_size;
  for (std::size_t i = begin; i < std::max(end, begin + 1); ++i) {
    CPU_SET(cores[i % cores.size()], &chosen);
  }
  return chosen;
}

std::string outside_address() {
  const std::vector<std::string> own = dtutils::own_ipv4_addresses();
  return own.empty() ? "127.0.0.1" : own.front();
}

}  // namespace run
