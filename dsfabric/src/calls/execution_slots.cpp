// SPDX-License-Identifier: MIT
// ExecutionSlots: words, their ties, and what becomes of them when a process dies.
#include "dsfabric/execution_slots.hpp"

#include <chrono>
#include <new>
#include <optional>
#include <utility>

#include "dsfabric/detail/result_cell.hpp"
#include "dsfabric/group.hpp"
#include "dsfabric/handler_scope.hpp"
#include "dtutils/clock.hpp"

namespace dsfabric {

using dtutils::Synchronizer;

ExecutionSlots::ExecutionSlots(Fabric& fabric)
    : fabric_(fabric),
      tied_(std::make_unique<std::optional<detail::PendingReply>[]>(fabric.rank_capacity())) {
  renew();
}

ExecutionSlots::~ExecutionSlots() {
  bool pending = false;
  for (std::uint32_t rank = 0; rank < fabric_.rank_capacity(); ++rank) {
    tied_[rank].reset();
    pending = pending || !word(rank)->done();
  }
  if (pending) retire_memory();
}

void ExecutionSlots::retire_memory() noexcept {
  alignas(dtutils::RDMAMemory) std::byte kept[sizeof(dtutils::RDMAMemory)];
  new (kept) dtutils::RDMAMemory(std::move(memory_));
}

void ExecutionSlots::renew() {
  dtutils::RDMAMemory fresh =
      fabric_.general_allocator().allocate(fabric_.rank_capacity() * sizeof(Synchronizer));
  retire_memory();
  memory_ = std::move(fresh);
  for (std::uint32_t rank = 0; rank < fabric_.rank_capacity(); ++rank) {
    new (memory_.data() + rank * sizeof(Synchronizer)) Synchronizer(0);
  }
}

Synchronizer* ExecutionSlots::word(std::uint32_t rank) const noexcept {
  return std::launder(
      reinterpret_cast<Synchronizer*>(memory_.data() + rank * sizeof(Synchronizer)));
}

void ExecutionSlots::expect(const Group* group) {
  for (std::uint32_t rank = 0; rank < fabric_.rank_capacity(); ++rank) {
    if (!word(rank)->done()) detail::throw_pending("ExecutionSlots");
  }
  failures_ = fabric_.failures();
  const auto expect_worker = [this](ThreadId worker) {
    const std::uint32_t rank = fabric_.rank_of(worker);
    auto* const fresh = new (word(rank)) Synchronizer(1);
    tied_[rank].emplace(fabric_, worker.process, *fresh);
  };
  for (std::uint32_t rank = 0; rank < fabric_.rank_capacity(); ++rank) {
    tied_[rank].reset();
    new (word(rank)) Synchronizer(0);
    if (group == nullptr && rank < fabric_.total_threads()) {
      expect_worker(fabric_.thread_of_rank(rank));
    }
  }
  for (std::uint32_t rank = 0; group != nullptr && rank < group->size(); ++rank) {
    expect_worker(group->member(rank));
  }
}

void ExecutionSlots::refuse() noexcept {
  for (std::uint32_t rank = 0; rank < fabric_.rank_capacity(); ++rank) {
    // Untied first: only one of the two may fail what is pending.
    tied_[rank].reset();
    if (!word(rank)->done()) word(rank)->fail();
  }
}

std::vector<ThreadId> ExecutionSlots::wait() {
  constexpr std::chrono::seconds kPatience{1};
  constexpr std::chrono::milliseconds kLook{20};
  using dtutils::Clock;
  std::optional<Clock::time_point> give_up;
  std::vector<ThreadId> missing;
  bool lost = false;
  for (std::uint32_t rank = 0; rank < fabric_.rank_capacity(); ++rank) {
    auto outcome = Synchronizer::Outcome::kTimeout;
    if (!word(rank)->done()) detail::require_may_wait(fabric_, "ExecutionSlots::wait()");
    while ((outcome = word(rank)->wait_for(kLook)) == Synchronizer::Outcome::kTimeout) {
      if (!give_up && fabric_.failures() != failures_) give_up = Clock::now() + kPatience;
      if (give_up && Clock::now() >= *give_up) break;
    }
    tied_[rank].reset();
    if (outcome != Synchronizer::Outcome::kDone) missing.push_back(fabric_.thread_of_rank(rank));
    // Late news comes where nothing was heard; and from this process also after its failure, when
    // other workers of it go on.
    const bool here = fabric_.thread_of_rank(rank).process == fabric_.process();
    lost = lost || outcome == Synchronizer::Outcome::kTimeout ||
           (outcome == Synchronizer::Outcome::kFailed && here);
  }
  if (lost) renew();
  return missing;
}

}  // namespace dsfabric
