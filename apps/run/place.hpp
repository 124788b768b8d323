// SPDX-License-Identifier: MIT
// Which rank runs where.
#pragma once

#include <sched.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace run {

struct Place {
  /// Empty: this machine.
  std::string host;
  /// Position among the processes of its host, and their number.
  std::uint32_t local_rank = 0;
  std::uint32_t local_size = 1;
};

/// One place a rank: hosts are filled in their order. Throws dtutils::Error when they do not hold
/// all processes, or an entry makes no sense.
std::vector<Place> place(const Options& options);

/// The cores that a process of this machine may use; empty: as it is.
std::optional<cpu_set_t> cores_for(const Place& place, Bind bind);

/// The first address of this machine that is not loopback, else 127.0.0.1.
std::string outside_address();

}  // namespace run
