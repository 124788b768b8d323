// SPDX-License-Identifier: MIT
// A main that may be entered once a node: the source that has `cariama_main` includes this header,
// which brings the `main` of the program. Include it in that source alone.
#pragma once

#include "simulation/enter.hpp"

/// The program, which the source defines in the place of `main`. It is called once, with the
/// arguments of the process; in a simulation (scripts/simulate) once in each node, with arguments
/// of its own.
int cariama_main(int argc, char** argv);

namespace simulation {
/// Tells cariama-simulate that the program has a cariama_main.
[[gnu::used]] inline constexpr char kMark[] = "cariama_main: may be entered once a node";
}  // namespace simulation

/// Calls it.
int main(int argc, char** argv) { return simulation::enter(argc, argv, cariama_main); }
