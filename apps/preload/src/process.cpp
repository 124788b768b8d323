// SPDX-License-Identifier: MIT
// The process id, as of the last fork.
#include "process.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace preload {
namespace {

pid_t current_process() noexcept { return static_cast<pid_t>(syscall(SYS_getpid)); }

std::atomic<unsigned> forks_so_far{0};
std::atomic<pid_t> process_id{0};

}  // namespace

unsigned forks() noexcept { return forks_so_far.load(std::memory_order_relaxed); }

void count_fork() noexcept {
  forks_so_far.fetch_add(1, std::memory_order_relaxed);
  process_id.store(current_process(), std::memory_order_relaxed);
}

bool is_this_process() noexcept {
  const pid_t now = current_process();
  pid_t known = 0;
  // The first call is by the program itself: a child of vfork(2) calls no function before.
  return process_id.compare_exchange_strong(known, now, std::memory_order_relaxed) || known == now;
}

}  // namespace preload
