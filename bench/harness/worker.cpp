// SPDX-License-Identifier: MIT
// Waiting for commands and doing a child's share of them.
#include "bench/harness/worker.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/harness/canary.hpp"
#include "bench/harness/clock.hpp"
#include "bench/harness/core_wait.hpp"

namespace bench {

Worker::Worker(ControlBlock& block, Channel& channel, const std::vector<Case>& cases,
               bool smoke) noexcept
    : block_(block), channel_(channel), cases_(cases), smoke_(smoke) {}

Command Worker::next_command() {
  // Long enough that the steps of one round follow each other without a sleep between them.
  constexpr int kSpins = 5000;
  // Acquire: partner of the release in Director::post(), which wrote the command before it.
  const auto posted = [&] { return block_.sequence.load(std::memory_order_acquire); };
  for (int i = 0; i < kSpins && posted() == seen_; ++i) relax();
  // Without limit: a parent that dies takes its children along.
  while (posted() == seen_) {
    ::syscall(SYS_futex, &block_.sequence, FUTEX_WAIT, seen_, nullptr, nullptr, 0);
  }
  ++seen_;
  return block_.command;
}

void Worker::serve() {
  for (;;) {
    const Command command = next_command();
    if (command.action == Action::kQuit) return;
    perform(command);
    // Release: partner of the acquire in Director::await_children().
    block_.process[channel_.rank()].done.value.store(seen_, std::memory_order_release);
  }
}

void Worker::perform(const Command& command) {
  if (command.action == Action::kCanary) {
    if (channel_.rank() != 1) return;
    answer_round_trip(block_, command.iterations);
    // Relaxed: the release of `done` publishes it.
    block_.process[1].core_speed.value.store(
        static_cast<std::uint64_t>(1e6 * core_speed_.measure()), std::memory_order_relaxed);
    return;
  }
  const Case& item = cases_[command.case_index];
  if (command.action == Action::kPrepare) {
    if (item.prepare) item.prepare(channel_);
  } else if (command.action == Action::kFinish) {
    if (item.finish) item.finish(channel_);
  } else {
    const Variant& variant = item.variants[command.variant_index];
    Batch batch(channel_, command.iterations, smoke_);
    const std::uint64_t waited_ns = core_wait_ns();
    channel_.barrier();
    if (variant.assist) variant.assist(batch);
    // Relaxed: the release of `done` publishes it.
    block_.process[channel_.rank()].waited.value.store(core_wait_ns() - waited_ns,
                                                       std::memory_order_relaxed);
  }
}

void record_failure(ControlBlock& block, int rank, std::string_view reason) noexcept {
  ProcessBlock& own = block.process[rank];
  own.error[reason.copy(own.error.data(), own.error.size() - 1)] = '\0';
  // Release: partner of the acquire in Watchdog::report_child().
  own.failed.store(1, std::memory_order_release);
}

}  // namespace bench
