// SPDX-License-Identifier: MIT
// Fiber: the loop that each of them runs.
#include "fiber/fiber.hpp"

#include <cstring>

namespace riutils::detail {

boost::context::fiber Fiber::live(boost::context::fiber&& from) {
  thread = std::move(from);
  stack.arrive_from(*thread_stack);
  for (;;) {
    run_call();
    ended = true;
    switch_back();
  }
}

void Fiber::run_call() noexcept {
  auto* const copy = static_cast<std::byte*>(__builtin_alloca(bytes));
  if (bytes >= 8 && bytes <= 16) {
    // Two words, which may overlap: a function call less for the smallest records.
    std::memcpy(copy, payload, 8);
    std::memcpy(copy + bytes - 8, payload + bytes - 8, 8);
  } else {
    std::memcpy(copy, payload, bytes);
  }
  try {
    handler(copy, bytes, *call);
  } catch (...) {
    thrown = std::current_exception();
  }
}

}  // namespace riutils::detail
