// SPDX-License-Identifier: MIT
// RingSet: rings by destination, and what progress() does for them.
#include "riutils/ring_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "dsfabric/detail/arguments.hpp"
#include "dsfabric/detail/call_wrappers.hpp"
#include "dtutils/error.hpp"
#include "dtutils/log.hpp"
#include "ring/back_pressure.hpp"
#include "ring/batched_results.hpp"
#include "ring/ring_limits.hpp"
#include "ring/ring_registry.hpp"
#include "riutils/fiber_pool.hpp"

namespace riutils {

RingSet& RingSet::of(dsfabric::Thread& self) {
  dsfabric::detail::require_one_copy(self.fabric());
  RingSet& ring_set = open(self);
  // Only where needed: a helper thread may be polling.
  if (ring_set.receiver_.defers_fibers()) ring_set.receiver_.defer_fibers(false);
  return ring_set;
}

RingSet& RingSet::open(dsfabric::Thread& self) {
  RingSet& ring_set = RingRegistry::of(self.fabric())->at(self.id().index);
  const dsfabric::ProgressHook hook{[](void* it) { return static_cast<RingSet*>(it)->step(); },
                                    &ring_set};
  self.add_hook(hook);
  // Relaxed: a service thread that misses it asks the worker once more than needed.
  ring_set.opened_.store(true, std::memory_order_relaxed);
  if (ring_set.thread_ != &self) {
    // Only then: a helper thread may be polling.
    ring_set.thread_ = &self;
    ring_set.receiver_.serve_for(&self, &ring_set);
  }
  return ring_set;
}

RingSet::RingSet(dsfabric::Fabric& fabric, std::uint32_t worker)
    : fabric_(fabric),
      processes_(fabric.capacity()),
      shift_(static_cast<std::uint32_t>(std::bit_width(fabric.max_threads() - 1))),
      table_(new std::unique_ptr<detail::OutgoingRing>[std::size_t{processes_} << shift_]),
      back_pressure_(std::make_unique<BackPressure>()),
      results_(std::make_unique<BatchedResults>(*this)),
      looked_(dtutils::Clock::now()),
      receiver_(fabric, worker) {}

RingSet::~RingSet() = default;

void RingSet::run_in_fibers(bool wanted) {
  const auto refuse = [&](const char* why, const char* remedy) {
    throw dtutils::Error(fmt::format("calls of thread {} in fibers", thread_->id()), why, remedy);
  };
  if (delegated_) refuse("a helper thread executes them now", "choose before a Delegation begins");
  if (wanted && FiberPool::current() == nullptr) {
    refuse("it has no FiberPool", "make a riutils::FiberPool there first");
  }
  receiver_.run_in_fibers(wanted);
}

detail::OutgoingRing& RingSet::ring(dsfabric::ThreadId to, const RingOptions& options) {
  if (detail::OutgoingRing* const known = find(to)) return *known;
  if (to.is_service() || !fabric_.exists(to)) {
    throw dtutils::Error(
        fmt::format("call to thread {}", to),
        to.is_service() ? "service threads have no rings" : "this job has no such thread",
        "call a worker (Thread::neighbour), or use a SendChannel");
  }
  return add(table_[place_of(to)], std::make_unique<detail::OutgoingRing>(*this, to, options));
}

detail::OutgoingRing& RingSet::add(std::unique_ptr<detail::OutgoingRing>& place,
                                   std::unique_ptr<detail::OutgoingRing> made) {
  rings_.push_back(made.get());
  // Before anything else runs: the ring has a call for it soon.
  attended_.reserve(rings_.size());
  place = std::move(made);
  return *place;
}

detail::OutgoingRing* RingSet::result_ring(dsfabric::ThreadId to) const noexcept {
  // Whoever called has a ring to this worker, so that it exists.
  detail::OutgoingRing* const ring = result_table_ ? result_table_[place_of(to)].get() : nullptr;
  return ring != nullptr && ring->ready() ? ring : nullptr;
}

void RingSet::ask_for_result_ring(dsfabric::ThreadId to) noexcept {
  if (no_result_rings_ || !fabric_.exists(to)) return;
  try {
    if (!result_table_) {
      result_table_.reset(
          new std::unique_ptr<detail::OutgoingRing>[std::size_t{processes_} << shift_]);
    }
    std::unique_ptr<detail::OutgoingRing>& place = result_table_[place_of(to)];
    if (place) return;
    add(place,
        std::make_unique<detail::OutgoingRing>(*this, to, kResultRing, detail::RingKind::kResults))
        .prepare();
  } catch (const std::exception&) {
    // There is no memory for it, or that process is gone: results go home one by one.
    no_result_rings_ = true;
  }
}

void RingSet::tell_of_other_options(const RingOptions& wanted) {
  const std::span places(table_.get(), std::size_t{processes_} << shift_);
  const auto others = std::ranges::count_if(
      places, [&](const auto& ring) { return ring != nullptr && ring->options_ != wanted; });
  if (others == 0) return;
  told_ = true;
  dtutils::log(
      dtutils::LogLevel::kInfo, fmt::format("thread {}", thread_->id()),
      fmt::format("a channel asks for RingOptions that {} of its rings do not have, because "
                  "other channels made them; those rings stay as they are",
                  others));
}

void RingSet::attend_to(detail::OutgoingRing& ring) {
  if (ring.attended_) return;
  ring.attended_ = true;
  attended_.push_back(&ring);
}

bool RingSet::forward(const dsfabric::CallContext& call, dsfabric::ThreadId to,
                      std::uint32_t function, std::span<const std::byte> callable,
                      std::span<const std::byte> extra) {
  if (call.fabric.state(to.process) != dsfabric::PeerState::kActive) return false;
  return try_forward(to, function, callable, extra) ||
         dsfabric::detail::send_record(call.fabric, to, function, callable.data(),
                                       static_cast<std::uint32_t>(callable.size()), extra);
}

bool RingSet::try_forward(dsfabric::ThreadId to, std::uint32_t function,
                          std::span<const std::byte> callable, std::span<const std::byte> extra) {
  // A helper thread has no rings.
  if (fabric_.current_thread() != thread_) return false;
  constexpr detail::SendPolicy kNeverWait{WhenFull::kRetryAsync, true, 0};
  try {
    detail::OutgoingRing& out = ring(to, preferred_.value_or(RingOptions()));
    const std::uint32_t bytes = dsfabric::detail::record_bytes(callable.size(), extra.size());
    std::byte* const space = out.reserve(function, bytes, kNeverWait);
    if (space == nullptr) return false;
    std::memcpy(space, callable.data(), callable.size());
    if (!extra.empty()) std::memcpy(space + callable.size(), extra.data(), extra.size());
    return out.commit(nullptr, kNeverWait);
  } catch (const dtutils::Error&) {
    // Too large for its chunks, or no memory for it.
    return false;
  }
}

bool RingSet::step() {
  const bool busy = !attended_.empty() && look_after();
  // A helper's handlers have no rings.
  if (delegated_) return busy;
  const BatchedResults::Scope scope(*results_);
  const detail::RingKind min_kind =
      back_pressure_->limits_intake() ? detail::RingKind::kResults : detail::RingKind::kCalls;
  return receiver_.poll(results_.get(), min_kind) || busy;
}

bool RingSet::look_after() noexcept {
  if (++steps_ % kStepsPerClock == 0) {
    const auto now = dtutils::Clock::now();
    // What was batched before the last look is older than the time between.
    if (now - looked_ >= max_age_ / 2) {
      looked_ = now;
      ++epoch_;
    }
  }
  bool busy = false;
  std::uint64_t excess = 0;
  for (std::size_t i = 0; i < attended_.size();) {
    detail::OutgoingRing& ring = *attended_[i];
    const std::uint64_t before = ring.sender_.writes();
    if (ring.attend()) {
      excess += ring.excess();
      ++i;
    } else {
      ring.attended_ = false;
      attended_[i] = attended_.back();
      attended_.pop_back();
    }
    busy = busy || ring.sender_.writes() != before;
  }
  back_pressure_->set_excess(excess);
  return busy;
}

bool RingSet::flush() noexcept {
  bool all = true;
  for (detail::OutgoingRing* const ring : rings_) all = ring->flush() && all;
  return all;
}

std::uint64_t RingSet::issued() const noexcept {
  std::uint64_t calls = 0;
  for (const detail::OutgoingRing* const ring : rings_) calls += ring->issued();
  return calls;
}

std::uint64_t RingSet::stalls() const noexcept {
  std::uint64_t stalls = 0;
  for (const detail::OutgoingRing* const ring : rings_) stalls += ring->counters().stalls;
  return stalls;
}

std::uint64_t RingSet::issued(std::span<const dsfabric::ProcessId> processes) const noexcept {
  std::uint64_t calls = 0;
  for (const detail::OutgoingRing* const ring : rings_) {
    const bool counts = std::ranges::find(processes, ring->to().process) != processes.end();
    if (counts) calls += ring->issued();
  }
  return calls;
}

Counters RingSet::counters() const {
  Counters all;
  if (thread_ != nullptr) all.thread = thread_->id();
  for (const detail::OutgoingRing* const ring : rings_) all.outgoing.push_back(ring->counters());
  all.incoming = receiver_.counters();
  return all;
}

}  // namespace riutils
