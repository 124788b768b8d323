// SPDX-License-Identifier: MIT
// The Transmitters of the calling thread, for what calls post beside their messages.
#pragma once

#include "dsfabric/detail/inside.hpp"
#include "mesh/connections.hpp"
#include "threads/thread_registry.hpp"

namespace dsfabric::detail {

/// As Connections::hold. Throws as Fabric::transmitter.
inline HeldTransmitter hold(Fabric& fabric, ProcessId to) {
  return Inside::connections(fabric).hold(Inside::threads(fabric).mine(), to);
}
/// As Connections::try_hold. Throws as Fabric::transmitter.
inline HeldTransmitter try_hold(Fabric& fabric, ProcessId to) {
  return Inside::connections(fabric).try_hold(Inside::threads(fabric).mine(), to);
}

}  // namespace dsfabric::detail
