// SPDX-License-Identifier: MIT
// For layers whose waits end by writes of a process to itself.
#pragma once

namespace dsfabric {

class Fabric;

/// From now on this process fails, as by Fabric::fail, when one of its queue pairs to itself
/// breaks, which a write or an atomic on its own memory with a wrong address or key does. Without
/// it only who posts there, and barriers, notice that, and what others wait for never comes. Seen
/// when Fabric::on_watch looks. Once is enough. Setup only.
void watch_own_connections(Fabric& fabric);

}  // namespace dsfabric
