// SPDX-License-Identifier: MIT
// Level 1: a QueuePair. The program decides what is signaled, polls, and counts what is
// outstanding.
#include "dtutils/queue_pair.hpp"

#include <chrono>

#include "dtutils/error.hpp"
#include "job.hpp"

namespace levels {
namespace {

[[noreturn]] void give_up(const ibv_wc& completion) {
  throw dtutils::Error("level 1", dtutils::describe(completion), "run it again");
}

}  // namespace

Cost send_by_queue_pair(const Job& job, Wire& wire) {
  const int first_line = __LINE__;
  const auto device = dtutils::open_device(job.device);
  dtutils::ProtectionDomain pd(*device);
  dtutils::CompletionQueue completions(*device, dtutils::kSendDepth);
  dtutils::QueuePair queue_pair(pd, completions, completions);
  queue_pair.connect(wire.exchange(queue_pair.endpoint()));
  const auto target = wire.exchange(dtutils::RemoteMemoryLocator{});

  const auto start = std::chrono::steady_clock::now();
  constexpr std::uint64_t kInterval = 32;  // one signaled request in this many
  ibv_wc completion;
  std::uint64_t signaled = 0;
  std::uint64_t completed = 0;
  const auto wait_for_one = [&] {
    const auto outcome = queue_pair.wait(completion, std::chrono::seconds(10));
    if (outcome != dtutils::QueuePair::Wait::kCompleted) {
      throw dtutils::Error("level 1", "no completion came", "see whether the target still runs");
    }
    if (completion.status != IBV_WC_SUCCESS) give_up(completion);
    ++completed;
  };
  for (std::uint64_t i = 1; i <= job.count; ++i) {
    const bool signal = i % kInterval == 0 || i == job.count;
    // Room for two intervals: one fills while the other completes.
    if (signal && signaled - completed == 2) wait_for_one();
    const unsigned flags = dtutils::kInlined | (signal ? dtutils::kSignaled : dtutils::kUnsignaled);
    dtutils::PostResult posted;
    while ((posted = queue_pair.post_write({&i, 8, 0}, target.part(i % kSlots * 8, 8), i, flags)) ==
           dtutils::PostResult::kFull) {
      wait_for_one();
    }
    if (posted != dtutils::PostResult::kOk) {
      throw dtutils::Error("level 1", "a post was refused", "see whether the target still runs");
    }
    signaled += signal;
  }
  while (completed != signaled) wait_for_one();
  const auto end = std::chrono::steady_clock::now();
  const int last_line = __LINE__;
  wire.exchange(true);  // the target may go now
  const double time = std::chrono::duration<double, std::nano>(end - start).count();
  return {last_line - first_line - 1, time / static_cast<double>(job.count)};
}

}  // namespace levels
