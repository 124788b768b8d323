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

/// The same for a program that takes settings of the library alone. After --help, which lists them,
/// it returns 0. After a wrong setting or another argument it names it on stderr and returns 2.
/// Then `program` is not called. Setup only.
int enter_with_settings_only(int argc, char** argv, Main program);

}  // namespace simulation
