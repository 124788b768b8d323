// SPDX-License-Identifier: MIT
// Waiting for completions, with a deadline and with the device's own words on failure.
#pragma once

#include "dtutils/completion_queue.hpp"
#include "dtutils/queue_pair.hpp"
#include "support/device_under_test.hpp"
#include "support/where.hpp"

namespace support {

/// Fails unless the post was taken.
void must(dtutils::PostResult answer, Where where = Where::current());

/// The next completion, whatever its status; fails when none arrives in time.
ibv_wc next_completion(dtutils::CompletionQueue& queue, std::chrono::milliseconds limit = kPatience,
                       Where where = Where::current());

/// The next completion, which must be a success of work request `id`.
ibv_wc success(dtutils::CompletionQueue& queue, std::uint64_t id, Where where = Where::current());

/// The next completion, which must be of work request `id` and a failure.
ibv_wc failure(dtutils::CompletionQueue& queue, std::uint64_t id,
               std::chrono::milliseconds limit = kPatience, Where where = Where::current());

/// True when no completion arrives for a while (long enough for a device that is about to).
bool stays_empty(dtutils::CompletionQueue& queue,
                 std::chrono::milliseconds time = std::chrono::milliseconds(50));

}  // namespace support
