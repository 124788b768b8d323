// SPDX-License-Identifier: MIT
// The queue of a lock of Ncosed or Dqnl, built anew from the requests of the living.
#pragma once

#include <vector>

#include "locks/lock_id.hpp"
#include "report.hpp"

namespace locks::detail {

/// Changes `words` and the mailboxes (lines 0 and 2) of `reports`, which are all requests of living
/// processes for this lock, none of them in a step, with all that was posted in its place. Whoever
/// holds the lock keeps it. When nobody does, and the word does not show that only readers did, an
/// exclusive holder died: the next ones are told so. Requests of the living keep their order, as
/// far as the living know it: those whose predecessors died stand behind those whose did not.
void rebuild_queue(LockWords& words, std::vector<Report>& reports);

}  // namespace locks::detail
