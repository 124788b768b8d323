// SPDX-License-Identifier: MIT
// The single steps of a queue pair from RESET to ready-to-send, for tests that stop in between.
#pragma once

#include "dtutils/device.hpp"
#include "dtutils/endpoint.hpp"
#include "dtutils/limits.hpp"
#include "support/side.hpp"

namespace support {

/// RESET to INIT.
void to_init(dtutils::Device& device, ibv_qp* qp, int access);
/// INIT to RTR, connected to `peer`.
void to_ready_to_receive(dtutils::Device& device, ibv_qp* qp, const dtutils::Endpoint& peer);
/// RTR to RTS; `psn` as in its own endpoint.
void to_ready_to_send(dtutils::Device& device, ibv_qp* qp, std::uint32_t psn);
/// Any state to RESET.
void to_reset(dtutils::Device& device, ibv_qp* qp);
/// A reliable connected queue pair of its own in the protection domain of `own`, as `wanted` says,
/// and that of `peer`, ready to send to each other. `wanted.cap` holds what was granted afterwards.
ibv_qp* make_connected(dtutils::Device& device, Side& own, Side& peer, ibv_qp_init_attr& wanted);

}  // namespace support
