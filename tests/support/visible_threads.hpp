// SPDX-License-Identifier: MIT
// Simulated threads that the operating system knows.
#pragma once

namespace support {

/// Before simulation_under_test() is called for the first time: its threads wait in the operating
/// system each, which setuid(2) needs, for it signals all threads. False: that simulation is there
/// already, and of the other kind.
[[nodiscard]] bool show_simulated_threads();

}  // namespace support
