// SPDX-License-Identifier: MIT
// Chooses how this process joins its job.
#include <cstdlib>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/launchers.hpp"

namespace dsfabric {

std::unique_ptr<Bootstrap> make_bootstrap(const BootstrapOptions& options) {
  if (options.alone) return make_alone();
  if (auto pmix = make_pmix(options)) return pmix;
  if (std::getenv(rendezvous::kAddressVariable) != nullptr) return make_rendezvous_client(options);
  refuse_to_be_left_alone();
  return make_alone();
}

}  // namespace dsfabric
