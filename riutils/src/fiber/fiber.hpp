// SPDX-License-Identifier: MIT
// One fiber: its two contexts, the call that it runs, and where its exceptions are kept.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include "dsfabric/call_context.hpp"
#include "dsfabric/detail/function_table.hpp"
#include "fiber/handled_exceptions.hpp"
#include "fiber/sanitized_stack.hpp"

namespace riutils::detail {

/// Lies at the upper end of its stack. It lives as long as its pool, and runs one call after the
/// other; between two of them it waits inside live(), from where it is not woken at the end: it is
/// forgotten together with its stack. Owner thread of the pool only.
struct Fiber {
  /// Of this stack while something else runs, and of the thread's stack while the fiber runs.
  boost::context::fiber own;
  boost::context::fiber thread;
  SanitizedStack stack;
  SanitizedStack* thread_stack = nullptr;
  HandledExceptions exceptions;
  Fiber* next = nullptr;

  dsfabric::Invoke handler = nullptr;
  std::byte* payload = nullptr;
  std::uint32_t bytes = 0;
  std::optional<dsfabric::CallContext> call;
  std::exception_ptr thrown;
  /// The call is over; it has waited at least once.
  bool ended = false;
  bool waited = false;

  // Always inlined: the CPU predicts returns by a stack of its own, which a switch leaves behind,
  // so that each return from a function that has switched costs a misprediction.

  /// To this stack, until it switches back. Called on the thread's stack.
  [[gnu::always_inline]] void switch_here() {
    thread_stack->leave_for(stack);
    own = std::move(own).resume();
    thread_stack->arrive_from(stack);
  }
  /// To the thread's stack, until the next switch here. Called on this one.
  [[gnu::always_inline]] void switch_back() {
    stack.leave_for(*thread_stack);
    thread = std::move(thread).resume();
    stack.arrive_from(*thread_stack);
  }
  /// What a fiber does until its stack goes; it never returns.
  boost::context::fiber live(boost::context::fiber&& from);

 private:
  void run_call() noexcept;
};

}  // namespace riutils::detail
