// SPDX-License-Identifier: MIT
// Streams with a process that a connected socket leads to: of this host, or of another one.
#pragma once

#include <chrono>
#include <memory>

#include "dtutils/protection_domain.hpp"
#include "streams/stream.hpp"

namespace streams {

/// Makes a stream with the process at the other end of a connected stream socket, TCP or
/// Unix-domain, which calls connect_over at the same time. Who that is, the caller has found out
/// before: nothing is asked, and what the two say to each other is neither encrypted nor signed.
/// Each side sends a byte over the device and waits for the other's, so a device that leads nowhere
/// is found here.
///
/// Takes `socket` over, also when it fails. On shm it is closed; on other devices the stream keeps
/// it, and it tells of the peer's death. Throws Error when there is no stream within `timeout`: the
/// peer left, or speaks something else; the device does not lead to it. When only the other side
/// has got its stream, that one ends at once. Setup only.
std::unique_ptr<Stream> accept_over(dtutils::ProtectionDomain& domain, int socket,
                                    std::chrono::milliseconds timeout,
                                    const StreamOptions& options = {});

/// The other side of accept_over; its flow control is that of both.
std::unique_ptr<Stream> connect_over(dtutils::ProtectionDomain& domain, int socket,
                                     std::chrono::milliseconds timeout,
                                     const StreamOptions& options = {});

}  // namespace streams
