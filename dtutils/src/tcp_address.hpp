// SPDX-License-Identifier: MIT
// The addresses that a host and a port stand for.
#pragma once

#include <string_view>
#include <vector>

#include "dtutils/tcp.hpp"

namespace dtutils::tcp {

/// For one who listens (`is_passive`) or connects; without a host all addresses of this one, as one
/// address of IPv6 for both families, and one of IPv4. Throws Error as resolve_tcp. Setup only.
std::vector<TcpAddress> addresses_of(std::string_view object, const HostPort& of, bool is_passive);

}  // namespace dtutils::tcp
