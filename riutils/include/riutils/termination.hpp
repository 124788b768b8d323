// SPDX-License-Identifier: MIT
// The end of a computation by calls: when all have been executed, and those that they made.
#pragma once

#include "dsfabric/thread.hpp"

namespace riutils {

/// dsfabric::wait_for_termination(), after the ring set of this worker was made: returns when every
/// call of the job has been executed, those through rings (RDMAMessenger, RDMAMessengerGlobal,
/// RDMAAggregator) among them, no matter which thread executes them. A call that waits in a fiber
/// has not been executed. Batched and queued calls are sent by it. A plain barrier() does not wait
/// for calls that are on their way. The end of Fabric::run does the same.
void wait_for_termination(dsfabric::Thread& self);

}  // namespace riutils
