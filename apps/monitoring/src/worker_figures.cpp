// SPDX-License-Identifier: MIT
// WorkerFigures: a hook that mostly does nothing.
#include "monitoring/worker_figures.hpp"

#include <utility>

#include "dtutils/clock.hpp"

namespace monitoring {
namespace {

/// Steps of progress between two looks at the clock.
constexpr std::uint32_t kSteps = 16;

}  // namespace

WorkerFigures::WorkerFigures(dsfabric::Thread& self, Board& board,
                             std::chrono::nanoseconds interval)
    : self_(self),
      board_(board),
      interval_(interval),
      hook_{[](void* it) { return static_cast<WorkerFigures*>(it)->step(); }, this},
      next_(dtutils::Clock::now()) {
  self_.add_hook(hook_);
}

WorkerFigures::~WorkerFigures() {
  self_.remove_hook(hook_);
  take();
}

void WorkerFigures::total(std::string_view name, std::function<std::uint64_t()> now,
                          std::string_view unit) {
  Counter counter = board_.counter(name, unit);
  totals_.push_back({counter, std::move(now), 0});
}

void WorkerFigures::take() noexcept {
  for (Total& total : totals_) {
    const std::uint64_t now = total.now();
    total.counter.add(now - total.before);
    total.before = now;
  }
}

bool WorkerFigures::step() noexcept {
  if (++steps_ % kSteps != 0) return false;
  const auto now = dtutils::Clock::now();
  if (now < next_) return false;
  next_ = now + interval_;
  take();
  return false;
}

}  // namespace monitoring
