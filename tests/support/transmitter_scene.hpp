// SPDX-License-Identifier: MIT
// A Transmitter and what it sends to.
#pragma once

#include <memory>

#include "dtutils/transmitter.hpp"
#include "support/device_under_test.hpp"
#include "support/side.hpp"

namespace support {

/// A Transmitter connected to the queue pair of `target`, on one device.
struct TransmitterScene {
  explicit TransmitterScene(const dtutils::TransmitterOptions& transmitter_options,
                            const SideOptions& target_options = {})
      : device(open_device_under_test()),
        target(*device, target_options),
        source(*device),
        receives(*device, 16),
        transmitter(source.pd, receives, transmitter_options) {
    transmitter.connect(target.qp.endpoint());
    target.qp.connect(transmitter.endpoint());
  }

  std::unique_ptr<dtutils::Device> device;
  Side target;
  Side source;
  dtutils::CompletionQueue receives;
  dtutils::Transmitter transmitter;
};

}  // namespace support
