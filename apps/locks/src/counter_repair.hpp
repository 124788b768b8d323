// SPDX-License-Identifier: MIT
// The counters of a lock of Dslr, built anew from the requests of the living.
#pragma once

#include <vector>

#include "locks/lock_id.hpp"
#include "report.hpp"

namespace locks::detail {

/// Changes the word, and what the places of `reports` say of it: the places of the dead are reset.
/// As rebuild_queue otherwise; the order of the living stays as it is.
void rebuild_counters(LockWords& words, std::vector<Report>& reports);

}  // namespace locks::detail
