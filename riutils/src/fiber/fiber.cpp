// SPDX-License-Identifier: MIT
// Fiber: switching stacks, and the loop that each of them runs.
#include "fiber/fiber.hpp"

#include <cstring>
#include <utility>

namespace riutils::detail {

void Fiber::switch_here() {
  thread_stack->leave_for(stack);
  own = std::move(own).resume();
  thread_stack->arrive_from(stack);
}

void Fiber::switch_back() {
  stack.leave_for(*thread_stack);
  thread = std::move(thread).resume();
  stack.arrive_from(*thread_stack);
}

boost::context::fiber Fiber::live(boost::context::fiber&& from) {
  thread = std::move(from);
  stack.arrive_from(*thread_stack);
  while (!last) {
    run_call();
    ended = true;
    switch_back();
  }
  stack.leave_for(*thread_stack, true);
  return std::move(thread);
}

void Fiber::run_call() noexcept {
  auto* const copy = static_cast<std::byte*>(__builtin_alloca(bytes));
  std::memcpy(copy, payload, bytes);
  try {
    handler(copy, bytes, *call);
  } catch (...) {
    thrown = std::current_exception();
  }
}

}  // namespace riutils::detail
