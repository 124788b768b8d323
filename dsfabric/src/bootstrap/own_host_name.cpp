// SPDX-License-Identifier: MIT
// gethostname(2).
#include "bootstrap/own_host_name.hpp"

#include <unistd.h>

namespace dsfabric::rendezvous {

std::string own_host_name() {
  char name[256] = "unknown host";
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace dsfabric::rendezvous
