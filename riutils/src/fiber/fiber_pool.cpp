// SPDX-License-Identifier: MIT
// FiberPool: stacks, switches, and who is resumed when.
#include "riutils/fiber_pool.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "dsfabric/handler_scope.hpp"
#include "dtutils/error.hpp"
#include "dtutils/limits.hpp"
#include "dtutils/wait.hpp"
#include "fiber/fiber.hpp"
#include "fiber/fiber_pools.hpp"
#include "fiber/handled_exceptions.hpp"
#include "fiber/stack_slab.hpp"

namespace riutils {
namespace {

using detail::Fiber;
using detail::StackSlab;
using detail::SwitchedExceptions;

constexpr std::size_t kSmallestStack = std::size_t{16} << 10;
/// A record is copied onto the stack that it runs on.
constexpr std::size_t kStackPerRecord = 4;
/// Waiting fibers that one progress() looks at: what it costs the thread stays bounded.
constexpr std::size_t kLooks = 64;

/// Boost.Context's allocator concept, for a stack that a StackSlab owns.
struct OwnedElsewhere {
  static void deallocate(boost::context::stack_context&) noexcept {}
};

FiberOptions checked(FiberOptions options) {
  options.stack_size = (options.stack_size + dtutils::kPage - 1) / dtutils::kPage * dtutils::kPage;
  if (options.stack_size < kSmallestStack || options.max_fibers == 0 || options.step == 0) {
    throw dtutils::Error("FiberPool",
                         fmt::format("{} fibers, made {} at a time, with {} bytes of stack",
                                     options.max_fibers, options.step, options.stack_size),
                         "give at least one fiber, steps of one, and 16 KiB");
  }
  return options;
}

}  // namespace

FiberPool::FiberPool(dsfabric::Fabric& fabric, const FiberOptions& options)
    : fabric_(fabric),
      worker_(fabric.current_thread()),
      options_(checked(options)),
      largest_record_(static_cast<std::uint32_t>(options_.stack_size / kStackPerRecord)),
      exceptions_(abi::__cxa_get_globals()),
      thread_stack_(std::make_unique<detail::SanitizedStack>()),
      unfinished_(fabric.capacity()) {
  if (mine() != nullptr) {
    throw dtutils::Error("FiberPool", "this thread has one already", "make one pool a thread");
  }
  thread_stack_->use_thread_stack();
  grow();
  if (worker_ != nullptr) worker_->add_hook(progress_hook());
  before_ = dtutils::set_wait_hook({&wait_hook, this, [](void* pool) noexcept {
                                      return static_cast<FiberPool*>(pool)->running_ != nullptr;
                                    }});
  mine() = this;
  detail::FiberPools::of(fabric_)->add(*this);
}

FiberPool::FiberPool(dsfabric::Thread& self, const FiberOptions& options)
    : FiberPool(self.fabric(), options) {}

FiberPool::~FiberPool() {
  drain();
  detail::FiberPools::of(fabric_)->remove(*this);
  dtutils::set_wait_hook(before_);
  if (worker_ != nullptr) worker_->remove_hook(progress_hook());
  mine() = nullptr;
  // An idle fiber owns nothing beside its stack.
  for (Fiber* fiber = free_; fiber != nullptr; fiber = fiber->next) fiber->stack.unmake();
  if (!waiting_.empty()) {
    for (StackSlab& slab : slabs_) slab.abandon();
  }
}

dsfabric::ProgressHook FiberPool::progress_hook() noexcept {
  return {[](void* pool) { return static_cast<FiberPool*>(pool)->progress(); }, this};
}

void FiberPool::drain() noexcept {
  dtutils::Deadline deadline(options_.drain_timeout);
  dtutils::Backoff backoff;
  while (!waiting_.empty() && !deadline.passed()) {
    bool busy = false;
    try {
      // A worker's progress comes back here by the hook.
      busy = worker_ != nullptr ? worker_->progress() : fabric_.progress();
      busy = (worker_ == nullptr && progress()) || busy;
    } catch (...) {
      // It has no upcall, and there is nobody left to throw to.
    }
    busy ? backoff.reset() : backoff.pause();
  }
}

void FiberPool::grow() {
  const std::uint32_t count = std::min(options_.step, options_.max_fibers - made_);
  slabs_.reserve(slabs_.size() + 1);
  waiting_.reserve(made_ + count);
  StackSlab& slab = slabs_.emplace_back(count, options_.stack_size);
  // The last one is taken first, so go backwards.
  for (std::uint32_t i = count; i-- > 0;) {
    const std::span<std::byte> stack = slab.stack(i);
    std::byte* const top = stack.data() + stack.size() - (sizeof(Fiber) + 63) / 64 * 64;
    auto* const fiber = new (top) Fiber;
    fiber->stack.make(stack.data(), stack.size());
    fiber->thread_stack = thread_stack_.get();
    boost::context::stack_context whole;
    whole.sp = top;
    whole.size = static_cast<std::size_t>(top - stack.data());
    // Boost runs a few instructions on the new stack here.
    thread_stack_->visit(fiber->stack);
    fiber->own = boost::context::fiber(
        std::allocator_arg, boost::context::preallocated(whole.sp, whole.size, whole),
        OwnedElsewhere{},
        [fiber](boost::context::fiber&& from) { return fiber->live(std::move(from)); });
    thread_stack_->end_visit();
    fiber->next = std::exchange(free_, fiber);
  }
  made_ += count;
}

// Inlined for the reason that fiber.hpp gives.
inline void FiberPool::switch_to(Fiber& fiber) {
  running_ = &fiber;
  {
    const SwitchedExceptions exceptions(exceptions_, fiber.exceptions);
    fiber.switch_here();
  }
  running_ = nullptr;
}

inline FiberPool::Outcome FiberPool::start(dsfabric::Invoke handler, std::byte* payload,
                                           std::uint32_t bytes, dsfabric::CallContext& call) {
  if (running_ != nullptr) {
    handler(payload, bytes, call);
    return Outcome::kRun;
  }
  too_large_ = bytes > largest_record_;
  if (too_large_) [[unlikely]]
    return Outcome::kTooLarge;
  if (free_ == nullptr && !find_free()) [[unlikely]]
    return Outcome::kNoStack;
  Fiber& fiber = *std::exchange(free_, free_->next);
  fiber.handler = handler;
  fiber.payload = payload;
  fiber.bytes = bytes;
  fiber.call.emplace(call);
  fiber.ended = false;
  fiber.waited = false;
  switch_to(fiber);
  if (fiber.ended) {
    if (auto thrown = end(fiber)) [[unlikely]]
      std::rethrow_exception(std::move(thrown));
  }
  return Outcome::kRun;
}

FiberPool::Outcome FiberPool::run(dsfabric::Invoke handler, std::byte* payload, std::uint32_t bytes,
                                  dsfabric::CallContext& call) {
  return start(handler, payload, bytes, call);
}

void FiberPool::run_here(dsfabric::Invoke handler, std::byte* payload, std::uint32_t bytes,
                         dsfabric::CallContext& call) {
  FiberPool* const pool = mine();
  if (pool == nullptr || pool->start(handler, payload, bytes, call) != Outcome::kRun) [[unlikely]] {
    handler(payload, bytes, call);
  }
}

bool FiberPool::find_free() {
  if (made_ == options_.max_fibers) return false;
  try {
    grow();
    return true;
  } catch (const std::exception& error) {
    kernel_refusal_ = error.what();
    return false;
  }
}

std::exception_ptr FiberPool::end(Fiber& fiber) noexcept {
  fiber.next = std::exchange(free_, &fiber);
  if (fiber.waited) {
    unfinished_.take(fiber.call->source.process);
  }
  return std::exchange(fiber.thrown, nullptr);
}

void FiberPool::suspend(const dtutils::Synchronizer* on, dtutils::WaitEnd until) {
  Fiber& fiber = *running_;
  timed_ += until != dtutils::WaitEnd::max();
  // There is room for all fibers that were made.
  waiting_.push_back({on, until, &fiber});
  if (!fiber.waited) {
    fiber.waited = true;
    // Whoever has seen the call counted as run, which happens later, sees this too.
    unfinished_.add(fiber.call->source.process);
  }
  fiber.switch_back();
}

bool FiberPool::wait_hook(void* self, const dtutils::Synchronizer& waited, dtutils::WaitEnd end) {
  auto& pool = *static_cast<FiberPool*>(self);
  if (pool.running_ == nullptr) {
    return pool.before_.step != nullptr && pool.before_.step(pool.before_.context, waited, end);
  }
  pool.suspend(&waited, end);
  return true;
}

bool FiberPool::wait_step() {
  if (!inside()) {
    const dtutils::Synchronizer nothing(1);
    return dtutils::run_wait_hook(nothing);
  }
  mine()->suspend(nullptr, dtutils::WaitEnd::max());
  return true;
}

bool FiberPool::progress() {
  if (waiting_.empty() || running_ != nullptr) return false;
  const dtutils::WaitEnd now = timed_ != 0 ? dtutils::Clock::now() : dtutils::WaitEnd::min();
  const dsfabric::HandlerScope scope(fabric_);
  bool busy = false;
  for (std::size_t looks = std::min(kLooks, waiting_.size()); looks > 0; --looks) {
    if (next_ >= waiting_.size()) next_ = 0;
    if (waiting_.empty()) break;
    const Waiter waiter = waiting_[next_];
    const bool waits_for_something = waiter.on != nullptr;
    if (waits_for_something && !waiter.on->done() && now < waiter.until) {
      ++next_;
      continue;
    }
    waiting_[next_] = waiting_.back();
    waiting_.pop_back();
    timed_ -= waiter.until != dtutils::WaitEnd::max();
    busy = resume(*waiter.fiber) || waits_for_something || busy;
  }
  return busy;
}

bool FiberPool::resume(Fiber& fiber) {
  switch_to(fiber);
  if (!fiber.ended) return false;
  const dsfabric::CallContext call = *fiber.call;
  if (auto thrown = end(fiber)) fabric_.report_exception(call, std::move(thrown));
  return true;
}

void FiberPool::throw_no_fiber() {
  constexpr const char* kCall = "call in a fiber";
  const FiberPool* const pool = current();
  if (pool == nullptr) {
    throw dtutils::Error(kCall, "the thread that it came to has no FiberPool",
                         "make a riutils::FiberPool there before calls arrive");
  }
  if (pool->too_large_) {
    throw dtutils::Error(kCall,
                         fmt::format("it is larger than a quarter of the {} bytes of a stack",
                                     pool->options_.stack_size),
                         "raise FiberOptions::stack_size, or pass the data as a buffer by RDMA");
  }
  if (pool->made_ < pool->options_.max_fibers) {
    throw dtutils::Error(kCall, pool->kernel_refusal_, "let fewer calls wait at once");
  }
  throw dtutils::Error(kCall, fmt::format("all {} fibers of the thread wait", pool->made_),
                       "raise FiberOptions::max_fibers, or send less at once");
}

}  // namespace riutils
