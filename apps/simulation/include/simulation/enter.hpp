// SPDX-License-Identifier: MIT
// What the main of a program with a cariama_main does; apart, since it includes nothing.
#pragma once

namespace simulation {

/// The main of a program that may be entered once a node.
using Main = int (*)(int argc, char** argv);

/// Returns what `program` returns. But if the arguments begin with those of cariama-simulate, it
/// runs it in the nodes of a simulation as run_main, says on stderr how that went, and returns
/// MainReport::status. Setup only.
int enter(int argc, char** argv, Main program);

}  // namespace simulation
