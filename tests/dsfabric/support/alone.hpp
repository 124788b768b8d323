// SPDX-License-Identifier: MIT
// A job of one process with one worker, on shm, for tests of layers above.
#pragma once

#include "dsfabric/dsfabric.hpp"

namespace support {

inline dsfabric::Fabric alone() {
  dsfabric::Config config;
  config.device = "shm";
  config.threads = 1;
  config.pin = false;
  return dsfabric::join(config);
}

}  // namespace support
