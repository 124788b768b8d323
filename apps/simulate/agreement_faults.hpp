// SPDX-License-Identifier: MIT
// What strikes the nodes of the workload agreement.
#pragma once

#include <cstdint>

namespace simulate {

/// Plans, from now on, one of: nothing; some die, a minority, one after the other; the nodes fall
/// into two halves; two lose each other; one is cut off from all others, and comes back; queue
/// pairs break. Sometimes some nodes stand still besides. False: even those that live may not come
/// to an end. In a simulated thread.
bool strike(std::uint32_t nodes);

}  // namespace simulate
