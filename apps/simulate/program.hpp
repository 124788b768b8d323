// SPDX-License-Identifier: MIT
// Programs that were written to be run in nodes: those with a cariama_main.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simulate {

/// What the program is told.
struct ProgramOptions {
  std::uint64_t nodes;
  std::uint64_t seed;
  bool swarm;
  bool calm;
  bool visible_threads;
  /// Empty: none.
  std::string trace;
  /// As simulation::read_model() reads it.
  std::string model;
};

/// Becomes the program, whose main then runs the cluster. Throws Error when there is no such
/// program, or it has no cariama_main.
[[noreturn]] void start_program(const std::vector<std::string>& command,
                                const ProgramOptions& options);

}  // namespace simulate
