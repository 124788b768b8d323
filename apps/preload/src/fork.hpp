// SPDX-License-Identifier: MIT
// What becomes of connections when the process forks.
#pragma once

namespace preload {

/// Lets the library take part in each fork(2) of the process. Once, when it is loaded.
void take_part_in_forks() noexcept;

}  // namespace preload
