// SPDX-License-Identifier: MIT
// What the processes of a watched job are made of.
#pragma once

#include "dsfabric/config.hpp"

namespace support {

/// One worker, and one service thread, which serves while the worker does not.
inline dsfabric::Config one_worker() {
  dsfabric::Config config;
  config.threads = 1;
  config.service_threads = 1;
  return config;
}

}  // namespace support
