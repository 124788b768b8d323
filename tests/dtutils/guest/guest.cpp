// SPDX-License-Identifier: MIT
// Cables are the far ends of the guest's virtual Ethernet pairs.
#include "guest.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "support/catch.hpp"
#include "support/require.hpp"

namespace guest {
namespace {

/// "4: ACTIVE", "1: DOWN", ...
std::string port_state(const std::string& device) {
  std::ifstream file(fmt::format("/sys/class/infiniband/{}/ports/1/state", device));
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

bool inside() {
  const bool is = std::getenv("CARIAMA_VM_RANK") != nullptr;
  if (!is) WARN("SKIPPED: runs in a guest only: scripts/vm test");
  return is;
}

PulledCable::PulledCable(std::string_view device) : device_(device) {
  support::require(set("down", "DOWN"), fmt::format("the cable of {} is not pulled", device_));
}

PulledCable::~PulledCable() {
  if (out_) set("up", "ACTIVE");
}

void PulledCable::put_back() {
  out_ = false;
  support::require(set("up", "ACTIVE"), fmt::format("the cable of {} is not back", device_));
}

bool PulledCable::set(std::string_view state, std::string_view wanted) const {
  // rxe0 is on veth0, whose far end is peer0.
  const std::string command =
      fmt::format("PATH=$PATH:/usr/sbin:/sbin exec ip link set peer{} {}", device_.back(), state);
  return std::system(command.c_str()) == 0 &&
         support::eventually([&] { return port_state(device_).find(wanted) != std::string::npos; });
}

}  // namespace guest
