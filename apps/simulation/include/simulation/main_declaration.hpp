// SPDX-License-Identifier: MIT
// What the headers that bring the `main` of a program have in common.
#pragma once

/// The program, which the source defines in the place of `main`. It is called once, with the
/// arguments of the process; in a simulation (scripts/simulate) once in each node, with arguments
/// of its own.
int cariama_main(int argc, char** argv);

namespace simulation {
/// Tells cariama-simulate that the program has a cariama_main.
[[gnu::used]] inline constexpr char kMark[] = "cariama_main: may be entered once a node";
}  // namespace simulation
