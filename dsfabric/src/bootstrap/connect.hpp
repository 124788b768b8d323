// SPDX-License-Identifier: MIT
// The connection of a process to the launcher.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "bootstrap/mailbox.hpp"

namespace dsfabric::rendezvous {

/// To "127.0.0.1:4711", a host name, or "[::1]:4711". Tries all addresses of a host, again and
/// again until `by`: the launcher's machine may still be busy accepting others. Throws Error. Setup
/// only.
std::unique_ptr<Mailbox> connect_to(const std::string& address,
                                    std::chrono::steady_clock::time_point by);

}  // namespace dsfabric::rendezvous
