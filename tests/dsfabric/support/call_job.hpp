// SPDX-License-Identifier: MIT
// What tests of calls share: a job with and without the adversary, and what its calls leave behind.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "dsfabric/support/fabric_job.hpp"
#include "dsfabric/support/ledger.hpp"
#include "support/require.hpp"

namespace support {

inline void has(const std::string& text, const std::string& part) {
  require(text.find(part) != std::string::npos, "\"" + text + "\" should hold \"" + part + "\"");
}

/// Runs the job as it is, and under the adversary.
inline void in_every_mode(std::uint32_t processes, std::uint32_t threads,
                          const std::function<void(dsfabric::Thread&)>& work,
                          std::uint32_t service_threads = 1) {
  in_every_mode({processes, threads, service_threads, std::chrono::seconds(30)}, work);
}

}  // namespace support
