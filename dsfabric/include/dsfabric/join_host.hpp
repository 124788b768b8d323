// SPDX-License-Identifier: MIT
// Where join() finds its job when the processes of the job are no processes of the operating
// system, but for example nodes of a simulation.
#pragma once

#include <functional>
#include <memory>

#include "dsfabric/bootstrap.hpp"
#include "dsfabric/config.hpp"

namespace dsfabric {

/// Called by join() on the thread that joins, with the settings that it has read, which it may
/// change. What it returns joins the job; nullptr: join() looks for a launcher, as it does
/// elsewhere. May throw Error.
using JoinHost = std::function<std::unique_ptr<Bootstrap>(Config& config)>;

/// From now on join(), but not the one that is given a Bootstrap, asks `host` first; an empty one
/// ends that. So a program joins unchanged wherever it is run. Setup only, while nobody joins.
void set_join_host(JoinHost host);

}  // namespace dsfabric
