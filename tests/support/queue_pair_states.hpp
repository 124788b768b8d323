// SPDX-License-Identifier: MIT
// The single steps of a queue pair from RESET to ready-to-send, for tests that stop in between.
#pragma once

#include "dtutils/device.hpp"
#include "dtutils/endpoint.hpp"
#include "dtutils/limits.hpp"

namespace support {

/// RESET to INIT.
void to_init(dtutils::Device& device, ibv_qp* qp, int access);
/// INIT to RTR, connected to `peer`.
void to_ready_to_receive(dtutils::Device& device, ibv_qp* qp, const dtutils::Endpoint& peer);
/// RTR to RTS; `psn` as in the own endpoint.
void to_ready_to_send(dtutils::Device& device, ibv_qp* qp, std::uint32_t psn);
/// Any state to RESET.
void to_reset(dtutils::Device& device, ibv_qp* qp);

}  // namespace support
