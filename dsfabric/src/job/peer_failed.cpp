// SPDX-License-Identifier: MIT
// PeerFailed: its sentence.
#include "dsfabric/peer_failed.hpp"

#include <fmt/format.h>

namespace dsfabric {

PeerFailed::PeerFailed(ProcessId process, std::string_view during, std::string_view reason)
    : Error(fmt::format("process {}", process.value),
            fmt::format("is gone, which ends {}: {}", during,
                        reason.empty() ? "the reason is not known" : reason),
            "check the output and exit status of that process; survivors may go on without it"),
      process_(process) {}

}  // namespace dsfabric
