// SPDX-License-Identifier: MIT
// Termination: counting calls in waves, until two waves agree.
#include "collectives/termination.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "dsfabric/detail/inside.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dtutils/wait.hpp"
#include "threads/handler_rules.hpp"

// Each wave sums over all workers how many calls were issued (I) and executed (E). It ends when the
// I of a wave equals the E of the wave before (F. Mattern, "Algorithms for distributed termination
// detection", Distributed Computing 2, 1987: the four-counter method). Why that suffices:
//
//  1. A wave is an all_gather, which nobody leaves before all have come. So what a worker saw when
//     it counted for one wave happened before everything that anybody counts for the next.
//  2. A call is counted as issued before it is sent, and as executed after its handler has ended,
//     hence after all calls that this handler made were counted as issued.
//  3. Let E1 be the calls that wave n counted as executed, I2 those that wave n + 1 counted as
//     issued. Each call is executed once, after it was issued, so by 1 every call of E1 is in I2.
//     When there are as many in both, they are the same calls.
//  4. Suppose that a call is not in I2, and take one before which there is none. No program made
//     it, for programs had made their calls before they counted. So a handler made it, that of a
//     call in I2, which is in E1: its handler had ended before wave n counted it, and by 1 and 2
//     the call is in I2 after all. So I2 are all calls that there will ever be, and all are
//     executed.
//
// A continuation of a future is a call here, which is issued when it is attached, by a program or a
// handler, and executed when it has run.
//
// E counts too few at times, which only costs a wave. Model: tests/riutils/model/termination.pml.

namespace dsfabric {

void Termination::add(CallLedger& ledger) {
  const std::scoped_lock lock(mutex_);
  ledgers_.push_back(&ledger);
}

std::vector<CallLedger*> Termination::ledgers() const {
  const std::scoped_lock lock(mutex_);
  return ledgers_;
}

std::uint64_t Termination::run_waves(Thread& self, ThreadContext& context, Collectives& collectives,
                                     Collective kind,
                                     std::optional<std::chrono::milliseconds> patience) {
  /// Steps of progress between two waves at most: others wait for this worker.
  constexpr int kSteps = 32;
  using dtutils::Clock;
  const Participants& participants = collectives.participants();
  std::vector<Wave> all(participants.total());
  std::vector<ProcessId> processes;
  for (std::uint32_t i = 0; i < participants.processes(); ++i) {
    processes.push_back(participants.process(i));
  }
  std::optional<Wave> before;
  std::optional<Clock::time_point> end;
  dtutils::Backoff backoff;
  for (;;) {
    // Again and again: a layer may come to this worker only now.
    for (CallLedger* const ledger : ledgers()) {
      if (kind == Collective::kRunEnds) ledger->work_ended(self);
    }
    const auto flush_all = [&] {
      for (CallLedger* const ledger : ledgers()) ledger->flush(self);
    };
    flush_all();
    for (int i = 0; i < kSteps && self.progress(); ++i) {
    }
    flush_all();
    Wave mine;
    for (CallLedger* const ledger : ledgers())
      mine.calls = mine.calls + ledger->count(self, processes);
    // The first worker of a process counts its messages, and what follows its futures.
    if (context.number == 0) {
      const std::span<const ProcessId> counted(processes);
      const std::uint64_t run = threads_.sum(&ThreadContext::calls_run, counted);
      mine.calls = mine.calls + CallCount{threads_.sum(&ThreadContext::calls_sent, counted), run};
      mine.calls = mine.calls + threads_.continuations();
    }
    mine.late = end && Clock::now() >= *end ? 1 : 0;
    collectives.gather(context, kind, std::as_bytes(std::span(&mine, 1)),
                       std::as_writable_bytes(std::span(all)));
    const Wave now =
        std::accumulate(all.begin(), all.end(), Wave{}, [](const Wave& a, const Wave& b) {
          return Wave{a.calls + b.calls, a.late + b.late};
        });
    if (before && now.calls.issued == before->calls.executed) return 0;
    if (now.late != 0) return now.calls.issued - std::min(now.calls.issued, now.calls.executed);
    if (patience && !end) end = Clock::now() + *patience;
    // The same at all workers, so they keep step.
    now == before ? backoff.pause() : backoff.reset();
    before = now;
  }
}

void Termination::wait(Thread& self, ThreadContext& context, Collectives& collectives) {
  (void)run_waves(self, context, collectives, Collective::kTermination, {});
}

void Termination::drain(Thread& self, ThreadContext& context) {
  // Relaxed: read when the workers have been joined.
  lost_.store(0, std::memory_order_relaxed);
  // Before anything runs: the work may have ended because of it, in the middle of its calls, whose
  // functions would miss what has gone with the work.
  if (failures_.count() != 0 || own_failure_.declared()) return;
  try {
    const std::uint64_t lost =
        run_waves(self, context, collectives_, Collective::kRunEnds, leave_timeout_);
    lost_.store(lost, std::memory_order_relaxed);
  } catch (const PeerFailed&) {
    // Calls from there and to there are lost, and whoever waits for them knows.
  }
}

void Termination::end_alone(Thread& self) {
  for (CallLedger* const ledger : ledgers()) {
    ledger->work_ended(self);
    ledger->flush(self);
  }
}

void wait_for_termination(Thread& self) {
  Fabric& fabric = self.fabric();
  ThreadContext& context = detail::Inside::threads(fabric).mine();
  if (context.in_handler) refuse_handlers("wait_for_termination()");
  detail::Inside::termination(fabric).wait(self, context);
}

}  // namespace dsfabric
