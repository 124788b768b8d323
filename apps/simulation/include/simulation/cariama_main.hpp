// SPDX-License-Identifier: MIT
// A main that may be entered once a node: the source that has `cariama_main` includes this header,
// which brings the `main` of the program. Include it in that source alone.
#pragma once

#include "simulation/enter.hpp"
#include "simulation/main_declaration.hpp"

/// Calls it.
int main(int argc, char** argv) { return simulation::enter(argc, argv, cariama_main); }
