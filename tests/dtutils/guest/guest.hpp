// SPDX-License-Identifier: MIT
// What tests need that change the machine they run on, which is a guest of scripts/vm.
#pragma once

#include <string>
#include <string_view>

namespace guest {

/// True in a guest. Elsewhere it warns of a skip, and the test returns: nothing here may touch the
/// network of a real machine.
bool inside();

/// Pulls the cable of a Soft-RoCE device of the guest (`rxe0`, `rxe1`), for the time of its life.
class PulledCable {
 public:
  /// Returns when the port is down.
  explicit PulledCable(std::string_view device);
  PulledCable(const PulledCable&) = delete;
  PulledCable& operator=(const PulledCable&) = delete;
  ~PulledCable();

  /// Puts it back; returns when the port is active.
  void put_back();

 private:
  bool set(std::string_view state, std::string_view port_state) const;

  std::string device_;
  bool out_ = true;
};

}  // namespace guest
