// SPDX-License-Identifier: MIT
// Bounded waits for completions.
#include "support/completions.hpp"

#include <fmt/format.h>

#include "support/require.hpp"

namespace support {

void must(dtutils::PostResult answer, Where where) {
  constexpr const char* kAnswers[] = {"ok", "full", "broken", "invalid"};
  require(answer == dtutils::PostResult::kOk,
          fmt::format("a post was answered \"{}\"", kAnswers[static_cast<int>(answer)]), where);
}

ibv_wc next_completion(dtutils::CompletionQueue& queue, std::chrono::milliseconds limit,
                       Where where) {
  ibv_wc completion{};
  int polled = 0;
  eventually([&] { return (polled = queue.poll({&completion, 1})) != 0; }, limit);
  require(polled >= 0, "the completion queue has overflowed", where);
  require(polled > 0, fmt::format("no completion within {} ms", limit.count()), where);
  return completion;
}

ibv_wc success(dtutils::CompletionQueue& queue, std::uint64_t id, Where where) {
  const ibv_wc completion = next_completion(queue, kPatience, where);
  require(completion.status == IBV_WC_SUCCESS, dtutils::describe(completion), where);
  require(completion.wr_id == id,
          fmt::format("work request {} completed instead of {}", completion.wr_id, id), where);
  return completion;
}

ibv_wc failure(dtutils::CompletionQueue& queue, std::uint64_t id, std::chrono::milliseconds limit,
               Where where) {
  const ibv_wc completion = next_completion(queue, limit, where);
  require(completion.status != IBV_WC_SUCCESS,
          fmt::format("work request {} succeeded instead of failing", completion.wr_id), where);
  require(completion.wr_id == id,
          fmt::format("work request {} failed instead of {}: {}", completion.wr_id, id,
                      dtutils::describe(completion)),
          where);
  return completion;
}

bool stays_empty(dtutils::CompletionQueue& queue, std::chrono::milliseconds time) {
  ibv_wc completion{};
  return !eventually([&] { return queue.poll({&completion, 1}) != 0; }, time);
}

}  // namespace support
