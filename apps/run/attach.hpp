// SPDX-License-Identifier: MIT
// scripts/run --attach: looks at detached jobs.
#pragma once

#include "options.hpp"

namespace run {

/// Lists the jobs of this user; or shows, follows or ends one of them. The exit status: 0, or that
/// of the job that was followed. Throws dtutils::Error when there is no such job, its keeper was
/// killed, or does not answer.
int attach(const Options& options);

}  // namespace run
