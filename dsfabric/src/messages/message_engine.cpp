// SPDX-License-Identifier: MIT
// MessageEngine: taking in, running, and keeping room to send.
#include "messages/message_engine.hpp"

#include <fmt/format.h>

#include <utility>

#include "dtutils/detail/scope_exit.hpp"
#include "dtutils/wait.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {
namespace {

/// Marks the thread context as busy with a message handler, also when that throws.
class HandlerRuns {
 public:
  explicit HandlerRuns(ThreadContext& context) noexcept : context_(context) {
    context.in_handler = true;
  }
  HandlerRuns(const HandlerRuns&) = delete;
  HandlerRuns& operator=(const HandlerRuns&) = delete;
  ~HandlerRuns() { context_.in_handler = false; }

 private:
  ThreadContext& context_;
};

}  // namespace

bool MessageEngine::progress(ThreadContext& context) {
  bool busy = false;
  if (!context.in_handler) {
    busy = run_inbox(context, context.inbox);
    busy = run_service_inbox(context) || busy;
  }
  busy = take_in(context) || busy;
  if (!context.in_handler && context.futures && !context.futures->idle()) {
    const HandlerRuns in_handler(context);
    busy = context.futures->progress() || busy;
  }
  // Where nothing came there is time for what was sent: one peer each time. Where messages never
  // end, what the thread waits for has to come as well.
  if (!busy || ++context.busy_since_poll == kBusyPerPoll) {
    context.busy_since_poll = 0;
    busy = connections_.poll_next(context) || busy;
  }
  if (!context.in_handler && context.working) {
    // By number: a step may add and remove hooks.
    for (std::size_t i = 0; i < context.hooks.size(); ++i) {
      const ProgressHook hook = context.hooks[i];
      busy = hook.step(hook.context) || busy;
    }
  }
  return busy;
}

bool MessageEngine::nothing_to_serve(ThreadContext& context) {
  // Only an own look after the arming tells: a worker that takes messages in at this moment may
  // have looked before, and may leave the rest, which gives no event any more.
  dtutils::Backoff backoff;
  Look look;
  while ((look = take_one(context)) == Look::kElsewhere) backoff.pause();
  // A result comes without an event.
  const bool awaited = context.futures && !context.futures->idle();
  return look == Look::kNothing && service_waiting_.load(std::memory_order_seq_cst) == 0 &&
         !awaited;
}

template <auto kBack>
void MessageEngine::run_then(ThreadContext& context, ReceiveBuffer& buffer) {
  const dtutils::detail::ScopeExit back([&]() noexcept { (this->*kBack)(context, buffer); });
  run(context, buffer);
}

void MessageEngine::post_again(ThreadContext&, ReceiveBuffer& buffer) noexcept {
  receiver_.post(buffer);
}

void MessageEngine::put_aside(ReceiveBuffer& buffer) noexcept {
  const auto& header = *reinterpret_cast<const MessageHeader*>(buffer.data);
  if (header.destination == ThreadId::kService) {
    // Sequentially consistent: pairs with a service thread that is about to sleep.
    service_waiting_.fetch_add(1, std::memory_order_seq_cst);
    service_inbox_.push(buffer);
  } else {
    threads_.worker(header.destination).inbox.push(buffer);
  }
}

bool MessageEngine::run_inbox(ThreadContext& context, Inbox& inbox) {
  for (unsigned i = 0; i < kProgressBatch; ++i) {
    ReceiveBuffer* const buffer = inbox.pop();
    if (buffer == nullptr) {
      return i != 0;
    }
    run_then<&MessageEngine::give_back>(context, *buffer);
  }
  return true;
}

bool MessageEngine::run_service_inbox(ThreadContext& context) {
  if (service_waiting_.load(std::memory_order_relaxed) == 0 || !service_taking_.try_lock()) {
    return false;
  }
  ReceiveBuffer* const buffer = service_inbox_.pop();
  if (buffer != nullptr) {
    service_waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  service_taking_.unlock();
  if (buffer == nullptr) {
    return false;
  }
  run_then<&MessageEngine::give_back>(context, *buffer);
  return true;
}

bool MessageEngine::take_in(ThreadContext& context) {
  for (unsigned i = 0; i < kProgressBatch; ++i) {
    if (take_one(context) != Look::kTaken) {
      return i != 0;
    }
  }
  return true;
}

void MessageEngine::take_aside(ThreadContext& context) {
  const bool in_handler = std::exchange(context.in_handler, true);
  dtutils::Backoff backoff;
  for (std::uint32_t left = receiver_.most();;) {
    const Look look = take_one(context);
    if (look == Look::kNothing || (look == Look::kTaken && --left == 0)) break;
    // Whoever takes one just now puts it somewhere before others may look.
    look == Look::kElsewhere ? backoff.pause() : backoff.reset();
  }
  context.in_handler = in_handler;
}

MessageEngine::Look MessageEngine::take_one(ThreadContext& context) {
  if (!receiver_.taking.try_lock()) {
    return Look::kElsewhere;
  }
  receiver_.refill();
  ibv_wc completion;
  if (!receiver_.take(completion)) {
    receiver_.taking.unlock();
    return Look::kNothing;
  }
  ReceiveBuffer& buffer = Receiver::buffer_of(completion);
  const auto& header = *reinterpret_cast<const MessageHeader*>(buffer.data);
  if (completion.status != IBV_WC_SUCCESS || validate_header(completion, header) != nullptr)
      [[unlikely]] {
    take_other(completion);
    receiver_.post(buffer);
    receiver_.taking.unlock();
    return Look::kTaken;
  }
  const bool service = header.destination == ThreadId::kService;
  const bool mine = service ? service_waiting_.load(std::memory_order_relaxed) == 0
                            : header.destination == context.name.index && context.inbox.empty();
  if (mine && !context.in_handler) {
    receiver_.taking.unlock();
    run_then<&MessageEngine::post_again>(context, buffer);
    return Look::kTaken;
  }
  put_aside(buffer);
  receiver_.replace();
  receiver_.taking.unlock();
  if (service) {
    service_sleep_.wake();
  }
  return Look::kTaken;
}

void MessageEngine::run(ThreadContext& context, ReceiveBuffer& buffer) {
  const auto& header = *reinterpret_cast<const MessageHeader*>(buffer.data);
  const MessageHandler& handler = handlers_[header.kind];
  const Incoming message{header.source,
                         header.flags,
                         {buffer.data + sizeof(MessageHeader), header.bytes},
                         fabric_,
                         context.worker};
  // Also when it throws.
  const bool is_call = header.kind == static_cast<std::uint8_t>(MessageKind::kCall);
  const dtutils::detail::ScopeExit counted([&]() noexcept {
    if (is_call) context.calls_run.add(message.source.process);
  });
  const HandlerRuns in_handler(context);
  arrivals_.see();
  if (handler.run == nullptr || !handler.run(handler.context, message)) [[unlikely]] {
    failures_.declare(header.source.process,
                      fmt::format("it sent an invalid message of kind {}", header.kind));
  }
}

void MessageEngine::look_between_sends(ThreadContext& context) {
  context.sent_since_look = 0;
  run_inbox(context, context.inbox);
  take_in(context);
}

void MessageEngine::wait_for_room(ThreadContext& context, dtutils::Transmitter& transmitter) {
  dtutils::Backoff backoff;
  while (!has_room(transmitter)) {
    const bool done = transmitter.progress();
    progress(context) || done ? backoff.reset() : backoff.pause();
  }
}

}  // namespace dsfabric
