// SPDX-License-Identifier: MIT
// What happens to a node that calls std::exit.
#pragma once

namespace simulation {

/// From now on std::exit in a node ends the process at once, with a sentence and a status that is
/// not 0: it would destroy what other nodes still use, and a test would end well. Any thread.
void guard_exit();

}  // namespace simulation
