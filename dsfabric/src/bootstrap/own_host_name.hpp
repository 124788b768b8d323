// SPDX-License-Identifier: MIT
// The name of this host.
#pragma once

#include <string>

namespace dsfabric::rendezvous {

/// As gethostname(2) has it.
std::string own_host_name();

}  // namespace dsfabric::rendezvous
