// SPDX-License-Identifier: MIT
// scripts/run --detach: a job that outlives its launcher.
#pragma once

#include "options.hpp"

namespace run {

/// Leaves the job with a keeper, a process in a session of its own, and returns when all its
/// processes have joined: 0, or the status of the job that did not start. Whatever ends the
/// launcher meanwhile does not end the job. Throws dtutils::Error.
int detach(const Options& options);

}  // namespace run
