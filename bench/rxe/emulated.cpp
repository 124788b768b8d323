// SPDX-License-Identifier: MIT
// The device, and the command line.
#include "bench/rxe/emulated.hpp"

#include <algorithm>
#include <stdexcept>

#include "dtutils/device.hpp"

namespace link_bench {

bool lacks_device(const bench::Channel& channel, const std::string& device,
                  const std::string& bench, bool& skipped) {
  const auto devices = dtutils::list_devices();
  if (std::any_of(devices.begin(), devices.end(),
                  [&](const auto& entry) { return entry.name == device; })) {
    return false;
  }
  skipped = true;
  if (channel.rank() != 0) return true;  // one process tells
  throw std::runtime_error("SKIPPED: there is no device " + device + " here; scripts/vm bench " +
                           bench + " runs this on Soft-RoCE");
}

bool given(const std::vector<std::string>& arguments, const char* option) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [&](const std::string& text) { return text.starts_with(option); });
}

void add_defaults(std::vector<std::string>& arguments) {
  const auto add_default = [&](const char* option, const char* value) {
    if (!given(arguments, option)) arguments.insert(arguments.end(), {option, value});
  };
  add_default("--near", "1e9");
  add_default("--core-speed", "0");
  add_default("--runs", given(arguments, "--smoke") ? "1" : "5");
}

}  // namespace link_bench
