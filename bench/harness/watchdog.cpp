// SPDX-License-Identifier: MIT
// The watching thread.
#include "bench/harness/watchdog.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "bench/harness/clock.hpp"
#include "bench/harness/process_group.hpp"

namespace bench {
namespace {

// How often the deadline is looked at, and how long the destructor may have to wait.
constexpr int kLookMs = 100;

}  // namespace

Watchdog::Watchdog(std::string program, const ControlBlock& block, std::vector<pid_t> children)
    : program_(std::move(program)), block_(block), children_(std::move(children)) {
  for (const pid_t child : children_) {
    const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
    if (descriptor < 0) {
      throw std::system_error(errno, std::generic_category(), "cannot watch a child process");
    }
    pidfds_.push_back(descriptor);
  }
  begin_step("set-up");
  thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  stop_.store(true, std::memory_order_relaxed);  // carries no data; join() orders the rest
  thread_.join();
  for (const int descriptor : pidfds_) ::close(descriptor);
}

void Watchdog::begin_step(const std::string& step) {
  const std::lock_guard lock(mutex_);
  step_ = step;
  deadline_ns_ = now_ns() + std::chrono::duration<double, std::nano>(kStepLimit).count();
}

void Watchdog::watch() {
  std::vector<pollfd> polled;
  for (const int descriptor : pidfds_) polled.push_back({descriptor, POLLIN, 0});
  while (!stop_.load(std::memory_order_relaxed)) {
    ::poll(polled.data(), polled.size(), kLookMs);
    if (stop_.load(std::memory_order_relaxed)) return;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents != 0) report_child(i);
    }
    check_deadline();
  }
}

void Watchdog::check_deadline() {
  const std::lock_guard lock(mutex_);
  if (now_ns() > deadline_ns_) {
    end_program(fmt::format("{}: not done after {} s, giving up", step_, kStepLimit.count()));
  }
}

void Watchdog::report_child(std::size_t index) {
  const std::lock_guard lock(mutex_);
  const ProcessBlock& child = block_.process[index + 1];
  // Acquire: partner of the release in record_failure(), which stored the text before.
  if (child.failed.load(std::memory_order_acquire) != 0) {
    end_program(fmt::format("{}: process {}: {}", step_, index + 1, child.error.data()));
  }
  int status = 0;
  ::waitpid(children_[index], &status, 0);
  end_program(fmt::format("{}: process {} {}", step_, index + 1, describe_end(status)));
}

void Watchdog::end_program(const std::string& reason) {
  fmt::print(stderr, "{}: {}\n", program_, reason);
  std::fflush(nullptr);
  for (const pid_t child : children_) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  ::_exit(1);  // the main thread may be in any state: no destructor can be trusted to end
}

}  // namespace bench
