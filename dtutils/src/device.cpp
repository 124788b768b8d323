// SPDX-License-Identifier: MIT
// Finds and opens devices of both kinds by name.
#include "dtutils/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <span>

#include "dtutils/error.hpp"
#include "dtutils/log.hpp"
#include "dtutils/scheduler.hpp"
#include "verbs/explanations.hpp"

namespace dtutils {
namespace {

constexpr std::string_view kShmName = "shm";
constexpr std::string_view kSimName = "sim";

/// "rxe0 (port 1 active, RoCE v2), shm (always works ...)".
std::string in_words(std::span<const DeviceEntry> devices) {
  std::string text;
  for (const DeviceEntry& device : devices) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", device.name, device.note);
  }
  return text;
}

[[noreturn]] void refuse_unknown(std::string_view name, const std::vector<DeviceEntry>& devices) {
  std::string remedy = fmt::format("devices here: {}", in_words(devices));
  if (devices.size() == 1) {
    remedy += "; about verbs devices: " + verbs::explain_absence(verbs::read_system_facts(), name);
  }
  throw Error(fmt::format("device \"{}\"", name), "there is no such device", remedy, ENODEV);
}

std::unique_ptr<Device> find_and_open(std::string_view name, const DeviceOptions& options) {
  if (name == kShmName) return open_shm_device(options);
  if (name == kSimName) return open_sim_device(options);
  const std::vector<DeviceEntry> devices = list_devices();
  if (std::ranges::find(devices, name, &DeviceEntry::name) == devices.end()) {
    refuse_unknown(name, devices);
  }
  return open_verbs_device(name, options);
}

std::unique_ptr<Device> open_named(std::string_view name, const DeviceOptions& options) {
  std::unique_ptr<Device> device = find_and_open(name, options);
  if (logs(LogLevel::kInfo)) {
    log(LogLevel::kInfo, fmt::format("device {}", device->info().name), device->info().reason);
  }
  return device;
}

}  // namespace

const char* to_string(DeviceKind kind) noexcept {
  return kind == DeviceKind::kVerbs ? "verbs" : kind == DeviceKind::kShm ? "shm" : "sim";
}

std::vector<DeviceEntry> list_devices() {
  std::vector<DeviceEntry> devices = list_verbs_devices();
  devices.push_back({std::string(kShmName), DeviceKind::kShm, true,
                     "always works, between processes of this host"});
  return devices;
}

std::unique_ptr<Device> open_device(std::string_view name, const DeviceOptions& options) {
  if (name != "auto") return open_named(name, options);
  if (simulated_by() != nullptr) return open_named(kSimName, options);

  std::string why;
  const char* fixed = std::getenv("CARIAMA_DEVICE");
  std::unique_ptr<Device> device;
  if (fixed != nullptr && *fixed != '\0' && std::string_view(fixed) != "auto") {
    device = open_named(fixed, options);
    why = "named by CARIAMA_DEVICE";
  } else {
    const std::vector<DeviceEntry> devices = list_devices();
    const auto usable = std::ranges::find(devices, true, &DeviceEntry::usable);
    device = open_named(usable->name, options);
    if (usable->kind == DeviceKind::kVerbs) {
      why = "the first usable verbs device";
    } else if (devices.size() > 1) {
      why = fmt::format("no verbs device is usable: {}", in_words({devices.begin(), usable}));
    } else {
      why = "no verbs device: " + verbs::explain_absence(verbs::read_system_facts(), "");
    }
  }
  device->info_.reason = fmt::format("{}: {}; {}", device->info_.name, why, device->info_.reason);
  log(LogLevel::kInfo, "choice of the device", why);
  return device;
}

}  // namespace dtutils
