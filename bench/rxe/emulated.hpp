// SPDX-License-Identifier: MIT
// What benches of a verbs device inside an emulator share: their device, and their defaults.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/bench.hpp"

namespace link_bench {

/// Whether this machine has no such device. If so, sets `skipped`, and throws std::runtime_error in
/// process 0, which names the line of scripts/vm that runs the bench.
bool lacks_device(const bench::Channel& channel, const std::string& device,
                  const std::string& bench, bool& skipped);

bool given(const std::vector<std::string>& arguments, const char* option);

/// Adds our defaults where the user gives none. The cache-line round trip and the speed of the
/// cores say nothing in an emulator, and batches there take seconds.
void add_defaults(std::vector<std::string>& arguments);

}  // namespace link_bench
