// SPDX-License-Identifier: MIT
// The bootstraps that come with the fabric, and the choice among them.
#pragma once

#include <chrono>
#include <cstdint>
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

/// What a process needs to join a job by a rendezvous.
struct Invitation {
  /// "127.0.0.1:4711", or "[::1]:4711".
  std::string address;
  std::string secret;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  /// Its processes all run one program.
  bool elastic = false;
};

/// PMIx when a PMIx launcher (mpirun, prun, srun) started this process and it is built in; else the
/// rendezvous that scripts/run named in CARIAMA_RENDEZVOUS; else alone, unless a launcher started
/// more than this process. Throws Error. Setup only.
std::unique_ptr<Bootstrap> make_bootstrap(const BootstrapOptions& options);

// The three, for tests.
std::unique_ptr<Bootstrap> make_alone();
std::unique_ptr<Bootstrap> make_rendezvous_client(const BootstrapOptions& options);
/// The same, by an invitation that is not in the environment.
std::unique_ptr<Bootstrap> accept_invitation(const Invitation& invitation,
                                             const BootstrapOptions& options);
/// Null when this process was not started by a PMIx launcher, or PMIx is not built in.
std::unique_ptr<Bootstrap> make_pmix(const BootstrapOptions& options);

}  // namespace dsfabric
