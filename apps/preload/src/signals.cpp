// SPDX-License-Identifier: MIT
// The handler that stands before those of the program.
#include "signals.hpp"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "real.hpp"

namespace preload {

namespace detail {
constinit thread_local std::atomic<unsigned> holds{0};
constinit thread_local int cancel_state = PTHREAD_CANCEL_ENABLE;
constinit thread_local std::atomic<std::uint64_t> held{0};
}  // namespace detail

namespace {

constinit thread_local std::atomic<std::uint32_t> handlers_all{0};
constinit thread_local std::atomic<std::uint32_t> handlers_without_restart{0};

/// Those of `held` that the thread had blocked: only its sleep let them through.
constinit thread_local std::atomic<std::uint64_t> blocked_before{0};

/// What the program has installed, while the library's handler stands before it.
struct Behind {
  std::atomic<sighandler_t> handler{nullptr};
  std::atomic<int> flags{0};
};
constinit std::array<Behind, NSIG> behind{};
/// Whether the program has ever installed one.
constinit std::atomic<bool> has_handlers{false};

std::uint64_t bit_of(int signal) noexcept { return std::uint64_t{1} << (signal - 1); }

sigset_t set_of(std::uint64_t bits) noexcept {
  sigset_t set;
  sigemptyset(&set);
  for (int signal = 1; bits != 0; ++signal, bits >>= 1) {
    if ((bits & 1) != 0) sigaddset(&set, signal);
  }
  return set;
}

/// Those that a thread does not cause itself by what it does at that moment.
bool may_wait(int signal) noexcept {
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
    if (signal == own) return false;
  }
  return signal > 0 && signal < NSIG;
}

bool is_function(sighandler_t handler) noexcept {
  return handler != SIG_DFL && handler != SIG_IGN && handler != SIG_ERR;
}

/// Sends it once more, to this thread, which does not take it before it asks for it.
void hold(int signal, siginfo_t* info, sigset_t& mask) noexcept {
  const int code = errno;
  if (sigismember(&mask, signal) == 1) {
    blocked_before.fetch_or(bit_of(signal), std::memory_order_relaxed);
  } else {
    sigaddset(&mask, signal);
  }
  // One instruction: another handler may come between.
  detail::held.fetch_or(bit_of(signal), std::memory_order_relaxed);
  const long process = getpid();
  const long thread = syscall(SYS_gettid);
  if (syscall(SYS_rt_tgsigqueueinfo, process, thread, signal, info) != 0) {
    // There is no room for what else it tells.
    syscall(SYS_tgkill, process, thread, signal);
  }
  errno = code;
}

void on_signal(int signal, siginfo_t* info, void* context) {
  if (detail::holds.load(std::memory_order_relaxed) != 0) {
    return hold(signal, info, static_cast<ucontext_t*>(context)->uc_sigmask);
  }
  const Behind& entry = behind[static_cast<std::size_t>(signal)];
  const sighandler_t handler = entry.handler.load(std::memory_order_relaxed);
  const int flags = entry.flags.load(std::memory_order_relaxed);
  handlers_all.fetch_add(1, std::memory_order_relaxed);
  if ((flags & SA_RESTART) == 0) handlers_without_restart.fetch_add(1, std::memory_order_relaxed);
  if ((flags & static_cast<int>(SA_RESETHAND)) != 0) {
    struct sigaction none {};
    none.sa_handler = SIG_DFL;
    real().sigaction(signal, &none, nullptr);
  }
  if ((flags & SA_SIGINFO) == 0) return handler(signal);
  // As sigaction(2) keeps both kinds in one place.
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_sigaction(signal, info, context);
}

/// Not reset by the kernel, since a signal may come to the library's handler twice.
constexpr int kOwnFlags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);

}  // namespace

HandlersRun handlers_run() noexcept {
  return {handlers_all.load(std::memory_order_relaxed),
          handlers_without_restart.load(std::memory_order_relaxed)};
}

void run_held_signals() {
  const int code = errno;
  const sigset_t now = set_of(detail::held.exchange(0, std::memory_order_relaxed));
  const std::uint64_t again = blocked_before.exchange(0, std::memory_order_relaxed);
  // They run in this call.
  pthread_sigmask(SIG_UNBLOCK, &now, nullptr);
  if (again != 0) {
    const sigset_t blocked = set_of(again);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  }
  errno = code;
}

void take_signals() {
  if (detail::held.load(std::memory_order_relaxed) == 0) return;
  const int state = detail::cancel_state;
  pthread_setcancelstate(state, nullptr);
  const unsigned holds = detail::holds.exchange(0, std::memory_order_relaxed);
  run_held_signals();
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  detail::cancel_state = state;
  detail::holds.store(holds, std::memory_order_relaxed);
}

SleepWithSignals::SleepWithSignals(const sigset_t* mask) noexcept
    : masks_(mask != nullptr || has_handlers.load(std::memory_order_relaxed)), wanted_(mask) {
  if (!masks_) {
    hold_signals();
    return;
  }
  sigset_t all;
  sigfillset(&all);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (!may_wait(signal)) sigdelset(&all, signal);
  }
  pthread_sigmask(SIG_BLOCK, &all, &before_);
  hold_signals();
}

SleepWithSignals::~SleepWithSignals() {
  const int code = errno;
  if (!masks_) {
    // What came has a handler that another thread has installed meanwhile.
    let_signals();
    errno = code;
    return;
  }
  const sigset_t before = before_;
  // Only the mask of the thread keeps them back from here on.
  detail::held.store(0, std::memory_order_relaxed);
  blocked_before.store(0, std::memory_order_relaxed);
  let_signals();
  if (wanted_ != nullptr) pthread_sigmask(SIG_SETMASK, wanted_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = code;
}

int set_action(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
  if (!may_wait(signal)) return real().sigaction(signal, action, before);
  Behind& entry = behind[static_cast<std::size_t>(signal)];
  const sighandler_t known = entry.handler.load(std::memory_order_relaxed);
  const int flags = entry.flags.load(std::memory_order_relaxed);
  struct sigaction changed {};
  if (action != nullptr) {
    changed = *action;
    if (is_function(action->sa_handler)) {
      has_handlers.store(true, std::memory_order_relaxed);
      entry.flags.store(action->sa_flags, std::memory_order_relaxed);
      entry.handler.store(action->sa_handler, std::memory_order_relaxed);
      changed.sa_sigaction = on_signal;
      changed.sa_flags = (action->sa_flags & ~kOwnFlags) | SA_SIGINFO;
    }
  }
  struct sigaction found {};
  const int result = real().sigaction(signal, action == nullptr ? nullptr : &changed, &found);
  if (result != 0 || before == nullptr) return result;
  *before = found;
  if (found.sa_sigaction == on_signal) {
    before->sa_handler = known;
    before->sa_flags = (found.sa_flags & ~kOwnFlags) | (flags & kOwnFlags);
  }
  return result;
}

sighandler_t set_handler(int signal, sighandler_t handler, sighandler_t (*set)(int, sighandler_t)) {
  struct sigaction before {};
  static_cast<void>(set_action(signal, nullptr, &before));
  const sighandler_t result = set(signal, handler);
  if (result == SIG_ERR || !is_function(handler)) {
    return result == SIG_ERR ? result : before.sa_handler;
  }
  // The flags that the C library has chosen.
  struct sigaction chosen {};
  real().sigaction(signal, nullptr, &chosen);
  if (chosen.sa_sigaction != on_signal) static_cast<void>(set_action(signal, &chosen, nullptr));
  return before.sa_handler;
}

}  // namespace preload
