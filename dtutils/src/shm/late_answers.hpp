// SPDX-License-Identifier: MIT
// Adversarial mode: READs and atomics whose answers come late, and what overtakes them meanwhile.
#pragma once

#include <cstdint>

#include "shm/queue_pair.hpp"

namespace dtutils::shm {

// The InfiniBand Architecture (10.8.3.3) keeps WRITEs, SENDs and atomics behind an earlier READ or
// atomic of their queue pair in order only if they carry IBV_SEND_FENCE. Without it they may read
// local memory before the answer has landed there, and a READ may see what a later WRITE wrote.
// Completions come in the order of the posts all the same.
//
// All under the send lock of a queue pair that has a Chaos.

/// Answer of execute_late: the request is under way, and `held` has a place for its completion.
inline constexpr int kAnswerIsLate = -3;

/// execute(), but the answer of a READ or atomic may stay away until one of the calls below.
int execute_late(QueuePair& qp, const ibv_send_wr& request, std::uint64_t position) noexcept;

/// True when `request` must not be executed before all answers have landed.
bool waits_for_answers(const QueuePair& qp, const ibv_send_wr& request) noexcept;

/// Lets the oldest answer land, if there is one. A failure breaks the pair.
void land_one(QueuePair& qp) noexcept;
void land_all(QueuePair& qp) noexcept;

/// The pair is broken: what can still land does, since it was posted before what failed; the
/// others fail.
void settle_answers(QueuePair& qp) noexcept;

}  // namespace dtutils::shm
