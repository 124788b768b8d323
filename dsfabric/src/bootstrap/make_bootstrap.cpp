// SPDX-License-Identifier: MIT
// Chooses how this process joins its job.
#include <cstdlib>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/environment.hpp"

namespace dsfabric {

std::unique_ptr<Bootstrap> make_bootstrap(const BootstrapOptions& options) {
  if (auto pmix = make_pmix(options)) return pmix;
  if (std::getenv(rendezvous::kAddressVariable) != nullptr) return make_rendezvous_client(options);
  return make_alone();
}

}  // namespace dsfabric
