// SPDX-License-Identifier: MIT
// The hook of each thread.
#include "dtutils/wait_hook.hpp"

#include <utility>

namespace dtutils {
namespace {

thread_local WaitHook thread_hook;

}  // namespace

WaitHook set_wait_hook(WaitHook hook) noexcept { return std::exchange(thread_hook, hook); }

bool run_wait_hook(const Synchronizer& waited, WaitEnd end) {
  const WaitHook hook = thread_hook;
  return hook.step != nullptr && hook.step(hook.context, waited, end);
}

bool wait_is_put_aside() noexcept {
  const WaitHook hook = thread_hook;
  return hook.puts_aside != nullptr && hook.puts_aside(hook.context);
}

}  // namespace dtutils
