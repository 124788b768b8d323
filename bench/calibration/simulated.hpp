// SPDX-License-Identifier: MIT
// The model of the network that three figures give, and the two-node program in a simulation of it.
#pragma once

#include "bench/calibration/program.hpp"
#include "dtutils/simulation.hpp"

namespace calibration {

/// The three figures that calibrate, in nanoseconds an operation.
struct Basics {
  /// Each of a stream of writes of kTiny bytes, of kSmall bytes, and of kLarge bytes.
  double tiny;
  double small;
  double large;
};
inline constexpr std::uint32_t kTiny = 8;
inline constexpr std::uint32_t kSmall = 1024;
inline constexpr std::uint32_t kLarge = 65536;

/// The model of an adapter in software, under which the program measures these figures. Processors
/// do its work, so nothing of a message overlaps with the next one: what lies between two messages
/// of a stream, the acknowledgement, is the way there and back of one that is alone. Without that
/// assumption there were one unknown more: what a message takes, what a packet takes, what a byte
/// takes, and the way there and back. `mtu` is that of the port. Throws std::runtime_error for
/// figures that no such model has.
dtutils::NetworkModel fit(const Basics& basics, std::uint32_t mtu);

/// What the program measures in a simulation. Throws std::runtime_error.
double simulate(const dtutils::NetworkModel& model, const Figure& figure);

}  // namespace calibration
