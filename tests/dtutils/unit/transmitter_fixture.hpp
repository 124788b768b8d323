// SPDX-License-Identifier: MIT
// A connected Transmitter over a ScriptedDevice.
#pragma once

#include "dtutils/transmitter.hpp"
#include "dtutils/unit/scripted_device.hpp"

namespace support {

struct TransmitterFixture {
  explicit TransmitterFixture(std::uint32_t threads)
      : pd(device),
        receives(device, 16),
        transmitter(pd, receives, dtutils::TransmitterOptions::for_threads(threads)) {
    transmitter.connect(transmitter.endpoint());
  }

  bool write(dtutils::PostOptions options = {}) {
    return transmitter.write(here(), there, options);
  }
  dtutils::LocalBuffer here() { return {&word, 8, 1}; }

  std::uint64_t word = 0;
  dtutils::RemoteMemoryLocator there{64, 8, 2, 0, 0};
  ScriptedDevice device;
  dtutils::ProtectionDomain pd;
  dtutils::CompletionQueue receives;
  dtutils::Transmitter transmitter;
};

}  // namespace support
