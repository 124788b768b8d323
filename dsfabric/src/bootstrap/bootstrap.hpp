// SPDX-License-Identifier: MIT
// The bootstraps that come with the fabric, and the choice among them.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "dsfabric/bootstrap.hpp"

namespace dsfabric {

struct BootstrapOptions {
  std::chrono::milliseconds start_timeout{30'000};
  /// Version and digest of what all processes must have in common; a difference is refused with
  /// both texts.
  std::string build;
  /// The same for an elastic job, whose processes all run one program.
  std::string elastic_build;
  /// Whatever launcher there is: a job of one.
  bool alone = false;
};

/// PMIx when a PMIx launcher (mpirun, prun, srun) started this process and it is built in; else the
/// rendezvous that scripts/run named in CARIAMA_RENDEZVOUS; else alone, unless a launcher started
/// more than this process. Throws Error. Setup only.
std::unique_ptr<Bootstrap> make_bootstrap(const BootstrapOptions& options);

// The three, for tests.
std::unique_ptr<Bootstrap> make_alone();
std::unique_ptr<Bootstrap> make_rendezvous_client(const BootstrapOptions& options);
/// Null when this process was not started by a PMIx launcher, or PMIx is not built in.
std::unique_ptr<Bootstrap> make_pmix(const BootstrapOptions& options);

}  // namespace dsfabric
