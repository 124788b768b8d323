// SPDX-License-Identifier: MIT
// What the launcher tells a process through its environment.
#pragma once

#include "dsfabric/rendezvous_server.hpp"

namespace dsfabric {

/// What every PMIx launcher sets, and what PMIx_Init goes by. scripts/run removes them from the
/// environment of the processes that it starts: it is the nearer launcher.
inline constexpr auto& kPmixVariables = RendezvousServer::kPmixVariables;

}  // namespace dsfabric

namespace dsfabric::rendezvous {

/// "127.0.0.1:4711" or "[::1]:4711": where the launcher listens.
inline constexpr const char* kAddressVariable = "CARIAMA_RENDEZVOUS";
/// The job secret, in hexadecimal digits.
inline constexpr const char* kSecretVariable = RendezvousServer::kSecretVariable;
inline constexpr const char* kRankVariable = "CARIAMA_RANK";
/// The rank of a process that comes to a job which runs already; it needs no size.
inline constexpr const char* kNewcomerRank = "new";
inline constexpr const char* kSizeVariable = "CARIAMA_SIZE";
/// How many processes an elastic job may have; unset or 0: its processes are fixed.
inline constexpr const char* kElasticVariable = "CARIAMA_ELASTIC";

}  // namespace dsfabric::rendezvous
