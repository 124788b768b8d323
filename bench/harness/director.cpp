// SPDX-License-Identifier: MIT
// Posting commands, and process 0's share of them.
#include "bench/harness/director.hpp"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "bench/harness/core_wait.hpp"
#include "bench/harness/wait.hpp"

namespace bench {

Director::Director(ControlBlock& block, Channel& channel, const std::vector<Case>& cases,
                   Watchdog& watchdog, bool smoke) noexcept
    : block_(block), channel_(channel), cases_(cases), watchdog_(watchdog), smoke_(smoke) {}

void Director::post(const Command& command, const std::string& step) {
  await_children();  // a batch that threw may have left them at work
  watchdog_.begin_step(step);
  block_.command = command;
  // Release: partner of the acquire in Worker::next_command(), which then reads the command.
  block_.sequence.store(++posted_, std::memory_order_release);
  ::syscall(SYS_futex, &block_.sequence, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Director::await_children() {
  for (int rank = 1; rank < channel_.processes(); ++rank) {
    const auto& done = block_.process[rank].done.value;
    // Acquire: partner of the release in Worker::serve(); what the child wrote is visible now.
    wait_until([&] { return done.load(std::memory_order_acquire) == posted_; },
               "another process to finish its step");
  }
}

void Director::prepare(std::size_t case_index) {
  const Case& item = cases_[case_index];
  post({.action = Action::kPrepare, .case_index = static_cast<std::uint32_t>(case_index)},
       fmt::format("case {}, prepare", case_id(item)));
  if (item.prepare) item.prepare(channel_);
  await_children();
}

void Director::finish(std::size_t case_index) {
  const Case& item = cases_[case_index];
  post({.action = Action::kFinish, .case_index = static_cast<std::uint32_t>(case_index)},
       fmt::format("case {}, finish", case_id(item)));
  if (item.finish) item.finish(channel_);
  await_children();
}

Canary Director::canary() {
  const std::uint64_t trips = smoke_ ? kSmokeCanaryTripsPerChunk : kCanaryTripsPerChunk;
  post({.action = Action::kCanary, .iterations = trips}, "cache-line round trip");
  Canary canary{.round_trip_ns = measure_round_trip(block_, trips),
                .core_speed = core_speed_.measure()};
  await_children();
  // Relaxed: await_children() has acquired it.
  const auto other = block_.process[1].core_speed.value.load(std::memory_order_relaxed);
  canary.core_speed = std::min(canary.core_speed, static_cast<double>(other) / 1e6);
  return canary;
}

Outcome Director::batch(std::size_t case_index, std::size_t variant_index,
                        std::uint64_t iterations) {
  const Case& item = cases_[case_index];
  const Variant& variant = item.variants[variant_index];
  post({.action = Action::kBatch,
        .case_index = static_cast<std::uint32_t>(case_index),
        .variant_index = static_cast<std::uint32_t>(variant_index),
        .iterations = iterations},
       fmt::format("case {}, variant {}", case_id(item), variant.name));
  Batch batch(channel_, iterations, smoke_);
  Outcome outcome;
  const std::uint64_t waited_before_ns = core_wait_ns();
  channel_.barrier();
  const double side_ms = time_ns([&] { outcome.figure = variant.measure(batch); }) / 1e6;
  // What a variant does before it measures makes its batch no longer.
  outcome.took_ms = batch.measured_ms() > 0 ? batch.measured_ms() : side_ms;
  std::uint64_t waited_ns = core_wait_ns() - waited_before_ns;
  await_children();
  for (int rank = 1; rank < channel_.processes(); ++rank) {
    // Relaxed: await_children() has acquired it.
    const auto& waited = block_.process[rank].waited.value;
    waited_ns = std::max(waited_ns, waited.load(std::memory_order_relaxed));
  }
  outcome.waited = static_cast<double>(waited_ns) / 1e6 / side_ms;
  return outcome;
}

void Director::quit() { post({.action = Action::kQuit}, "tear-down"); }

}  // namespace bench
