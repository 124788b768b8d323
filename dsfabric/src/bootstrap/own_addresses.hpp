// SPDX-License-Identifier: MIT
// Where other hosts may reach this one.
#pragma once

#include <string>
#include <vector>

namespace dsfabric::rendezvous {

/// The IPv4 addresses of the interfaces that are up, without loopback. Throws Error. Setup only.
std::vector<std::string> own_addresses();

/// As gethostname(2) has it.
std::string own_host_name();

}  // namespace dsfabric::rendezvous
