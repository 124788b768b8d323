// SPDX-License-Identifier: MIT
// As cariama_main.hpp, for programs that take settings (--cariama-...) and no other argument:
// --help lists the settings, and whatever else is given is refused before `cariama_main` is called.
#pragma once

#include "simulation/enter.hpp"
#include "simulation/main_declaration.hpp"

/// Calls it.
int main(int argc, char** argv) {
  return simulation::enter_with_settings_only(argc, argv, cariama_main);
}
