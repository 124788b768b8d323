// SPDX-License-Identifier: MIT
// What the launcher tells a process through its environment.
#pragma once

namespace dsfabric::rendezvous {

/// "127.0.0.1:4711" or "[::1]:4711": where the launcher listens.
inline constexpr const char* kAddressVariable = "CARIAMA_RENDEZVOUS";
/// The job secret, in hexadecimal digits.
inline constexpr const char* kSecretVariable = "CARIAMA_SECRET";
inline constexpr const char* kRankVariable = "CARIAMA_RANK";
inline constexpr const char* kSizeVariable = "CARIAMA_SIZE";

}  // namespace dsfabric::rendezvous
