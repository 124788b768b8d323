// SPDX-License-Identifier: MIT
// Finds, lists and opens libibverbs devices.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "dtutils/error.hpp"
#include "verbs/endpoint_choice.hpp"
#include "verbs/explanations.hpp"
#include "verbs/verbs_device.hpp"

namespace dtutils {
namespace verbs {
namespace {

/// Owner of what ibv_get_device_list(3) returned; empty where the kernel has no verbs.
class DeviceList {
 public:
  DeviceList() : devices_(::ibv_get_device_list(&count_)) {}
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  ~DeviceList() {
    if (devices_ != nullptr) ::ibv_free_device_list(devices_);
  }

  std::span<ibv_device* const> all() const {
    return {devices_, devices_ == nullptr ? 0 : static_cast<std::size_t>(count_)};
  }

 private:
  int count_ = 0;
  ibv_device** devices_;
};

Context open(ibv_device* device) {
  Context context(::ibv_open_device(device));
  if (!context) {
    int code = errno;
    const std::string node = fmt::format("/dev/infiniband/{}", device->dev_name);
    // libibverbs looks for the node elsewhere, too, and tells only how that ended.
    if (::access(node.c_str(), R_OK | W_OK) != 0) code = errno;
    throw Error(::ibv_get_device_name(device), "cannot be opened", remedy_for_open(code, node),
                code);
  }
  return context;
}

DeviceEntry examine(ibv_device* device) {
  DeviceEntry entry{::ibv_get_device_name(device), DeviceKind::kVerbs, false, ""};
  try {
    const Context context = open(device);
    const std::vector<PortFacts> ports = read_ports(context.get());
    for (const PortFacts& port : ports) {
      if (!entry.note.empty()) entry.note += "; ";
      entry.note += describe(port);
      entry.usable |= port.state == IBV_PORT_ACTIVE && !port.gids.empty();
    }
    if (device->transport_type == IBV_TRANSPORT_IWARP) {
      entry.usable = false;
      entry.note += "; iWARP is not supported";
    }
  } catch (const Error& error) {
    entry.note = error.what();
    entry.note.erase(0, error.object().size() + 2);
  }
  return entry;
}

}  // namespace

std::vector<PortFacts> read_ports(ibv_context* context) {
  const char* name = ::ibv_get_device_name(context->device);
  const auto fail = [&](const char* what, int code) {
    throw Error(name, what, "the kernel log may say more (`dmesg`)", code);
  };
  ibv_device_attr device{};
  if (const int code = ::ibv_query_device(context, &device))
    fail("its limits cannot be read", code);

  std::vector<PortFacts> ports;
  std::size_t entries = 0;
  for (int number = 1; number <= device.phys_port_cnt; ++number) {
    ibv_port_attr port{};
    if (const int code = ::ibv_query_port(context, static_cast<std::uint8_t>(number), &port)) {
      fail("a port cannot be read", code);
    }
    entries += static_cast<std::size_t>(port.gid_tbl_len);
    ports.push_back({static_cast<std::uint8_t>(number),
                     port.state,
                     port.link_layer,
                     port.lid,
                     port.active_mtu,
                     {}});
  }
  std::vector<ibv_gid_entry> table(entries);
  const ssize_t filled = ::ibv_query_gid_table(context, table.data(), table.size(), 0);
  if (filled < 0) fail("its GID tables cannot be read", static_cast<int>(-filled));
  table.resize(static_cast<std::size_t>(filled));
  for (const ibv_gid_entry& entry : table) {
    ports.at(entry.port_num - 1)
        .gids.push_back({static_cast<int>(entry.gid_index), entry.gid,
                         static_cast<ibv_gid_type>(entry.gid_type)});
  }
  return ports;
}

}  // namespace verbs

std::vector<DeviceEntry> list_verbs_devices() {
  const verbs::DeviceList list;
  std::vector<DeviceEntry> entries;
  for (ibv_device* device : list.all()) entries.push_back(verbs::examine(device));
  return entries;
}

std::unique_ptr<Device> open_verbs_device(std::string_view name, const DeviceOptions& options) {
  // Not where the kernel copies registered pages at fork(2) by itself: ibv_fork_init(3) would hide
  // them from the child all the same, and after a registration that failed even more than them. Nor
  // is opening a device to fail because it comes too late, after somebody else's registration.
  if (::ibv_is_fork_initialized() == IBV_FORK_DISABLED) ::ibv_fork_init();
  const verbs::DeviceList list;
  const auto device = std::ranges::find(list.all(), name, &::ibv_get_device_name);
  if (device == list.all().end()) {
    throw Error(name, "there is no such verbs device",
                verbs::explain_absence(verbs::read_system_facts(), name), ENODEV);
  }
  auto context = verbs::open(*device);
  return std::make_unique<verbs::VerbsDevice>(std::move(context), options);
}

}  // namespace dtutils
