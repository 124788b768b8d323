// SPDX-License-Identifier: MIT
// The end of a computation by calls: when all have been executed, and those that they made.
#pragma once

#include "dsfabric/thread.hpp"

namespace riutils {

/// Returns when every call of the job has been executed: those that workers made before they came
/// here, those that these calls made, and so on. A call that waits in a fiber has not been
/// executed. What all of them did is visible to every worker afterwards. A plain barrier() does not
/// wait for calls that are on their way.
///
/// Counted are calls through rings (RDMAMessenger, RDMAMessengerGlobal, RDMAAggregator), whoever
/// executes them, calls by messages (SendChannel), and all steps of broadcasts. Gathered and held
/// calls are sent by it. It does not wait for one-sided operations (a barrier() afterwards does),
/// and not for other threads than workers: what they call later is not foreseen.
///
/// A collective of all workers, in the order of their other collectives. It serves while it waits.
/// Throws PeerFailed when a process has failed or left: its calls are lost; and what handlers throw
/// when there is no upcall for it. Not inside a handler.
void wait_for_termination(dsfabric::Thread& self);

}  // namespace riutils
