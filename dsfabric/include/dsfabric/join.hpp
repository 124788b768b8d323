// SPDX-License-Identifier: MIT
// How a process comes into its job.
#pragma once

#include <memory>

#include "dsfabric/config.hpp"

namespace dsfabric {

class Bootstrap;
class Fabric;

/// Joins the job that this process was started in: by PMIx (mpirun, prun, srun), by scripts/run, or
/// alone when neither started it. Takes the settings from the arguments, which it removes, and the
/// environment. Returns when all processes have come; they connect when they first talk, or here
/// where the bootstrap carries no letters (Bootstrap::relays). Throws Error that names the
/// processes that did not come, what differs between the processes, or what the machine lacks.
/// Setup only.
Fabric join(int& argc, char** argv, Config config = {});
/// The same without a command line.
Fabric join(Config config = {});
/// The same with the processes that `bootstrap` knows (bootstrap.hpp).
Fabric join(std::unique_ptr<Bootstrap> bootstrap, Config config = {});

}  // namespace dsfabric
