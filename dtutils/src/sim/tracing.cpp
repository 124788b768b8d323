// SPDX-License-Identifier: MIT
// What a trace shows of threads and of requests.
#include <fmt/format.h>

#include <utility>

#include "sim/device.hpp"
#include "sim/queue_pair.hpp"
#include "sim/world.hpp"
#include "software/requests.hpp"

namespace dtutils::sim {
namespace {

Trace::Place line_of(const Thread& thread) noexcept {
  return {thread.node->number, thread.shown.line};
}

std::string_view name_of(ibv_wr_opcode opcode) noexcept {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
      return "write";
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return "write with immediate";
    case IBV_WR_RDMA_READ:
      return "read";
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return "compare and swap";
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return "fetch and add";
    default:
      return "send";
  }
}

std::string describe(const Request& request, std::string_view where, const Node& node) {
  return fmt::format("{} of {} B {} node {}", name_of(request.work.opcode), request.length, where,
                     node.number);
}

}  // namespace

void World::show_thread(Thread& thread) {
  thread.shown.line = Trace::kFirstThread + thread.node->threads++;
  const bool first = thread.shown.line == Trace::kFirstThread;
  trace_->name_line(
      line_of(thread),
      first ? "main" : fmt::format("thread {}", thread.shown.line - Trace::kFirstThread));
}

void World::show_fault(const Node& node, std::string_view what) {
  trace_->instant({node.number, Trace::kFaults}, time(), "fault", what);
}

Trace::Place World::show_here() noexcept {
  show_quiet(*running_);
  return line_of(*running_);
}

void World::show_wait(const char* kind, const char* what) noexcept {
  Thread::Shown& shown = running_->shown;
  if (what != nullptr) show_quiet(*running_);
  shown.kind = kind;
  shown.waits = what;
  shown.from = time();
  if (what == nullptr && !shown.quiet) shown.quiet = shown.from;
}

void World::show_end_of_wait(Thread& thread, sim::Time now) noexcept {
  Thread::Shown& shown = thread.shown;
  const sim::Time until = shown.stopped.value_or(now);
  if (shown.waits != nullptr) {
    trace_->span(line_of(thread), shown.from, until, shown.kind,
                 std::exchange(shown.waits, nullptr));
  } else {
    shown.quiet_until = until;
  }
  if (!shown.stopped) return;
  show_quiet(thread);
  trace_->span(line_of(thread), until, now, "stall", "is stopped");
  shown.stopped.reset();
}

void World::show_quiet(Thread& thread) noexcept {
  Thread::Shown& shown = thread.shown;
  if (!shown.quiet) return;
  trace_->span(line_of(thread), *shown.quiet, shown.quiet_until, "wait", "finds nothing");
  shown.quiet.reset();
}

void World::close_trace() {
  if (!trace_) return;
  for (const auto& thread : threads_) {
    if (thread->state == Thread::State::kWaiting) show_end_of_wait(*thread, now_);
    show_quiet(*thread);
  }
  trace_error_ = trace_->close(now_);
  trace_.reset();
}

Node& QueuePair::other_node() noexcept {
  SimDevice* const other = world_.device(SimDevice::number_of(given_.ah_attr.grh.dgid));
  return other != nullptr ? other->node() : device_.node();
}

void QueuePair::show(std::string_view kind, std::string_view what) noexcept {
  world_.trace()->instant({device_.node().number, Trace::kAdapter}, world_.time(), kind,
                          fmt::format("to node {}: {}", other_node().number, what));
}

void QueuePair::show_post(Request& request, Time begin) noexcept {
  Trace& trace = *world_.trace();
  request.arrow = trace.new_arrow();
  trace.span(world_.show_here(), begin, world_.time(), "post",
             describe(request, "to", other_node()), request.arrow, Trace::Arrow::kBegins);
}

void QueuePair::show_outcome(const Request& request, Outcome outcome) noexcept {
  Trace& trace = *world_.trace();
  const Time now = world_.time();
  const Trace::Place there{other_node().number, Trace::kArrivals};
  switch (outcome) {
    case Outcome::kDone:
      return trace.span(
          there, now - world_.options.model.land.count(), now, "arrival",
          describe(request, "from", device_.node()), request.arrow,
          software::brings_data(request.work.opcode) ? Trace::Arrow::kGoesOn : Trace::Arrow::kEnds);
    case Outcome::kTorn:
      return trace.instant(there, now, "fault",
                           "a part of a " + describe(request, "from", device_.node()));
    case Outcome::kNotReady:
      return show("stall", "the receiver is not ready");
    case Outcome::kNoAnswer:
      return show("fault", fmt::format("no answer, attempt {}", request.unanswered + 1));
    case Outcome::kFailed:
      return show("fault", fmt::format("refused: {}", ibv_wc_status_str(request.status)));
  }
}

void QueuePair::show_answer(const Request& request) noexcept {
  if (!software::brings_data(request.work.opcode) || request.status != IBV_WC_SUCCESS) return;
  const Time now = world_.time();
  world_.trace()->span({device_.node().number, Trace::kArrivals},
                       now - world_.options.model.land.count(), now, "arrival",
                       "answer to " + describe(request, "of", other_node()), request.arrow,
                       Trace::Arrow::kEnds);
}

}  // namespace dtutils::sim
