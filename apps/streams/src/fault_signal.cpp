// SPDX-License-Identifier: MIT
// mprotect(2) and a handler of SIGSEGV.
#include "fault_signal.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <optional>
#include <system_error>

namespace streams {
namespace {

FaultSignal* the_one = nullptr;

/// Where that can be told.
bool was_write(const void* context) noexcept {
#ifdef __x86_64__
  constexpr greg_t kWrite = 2;
  const auto* registers = static_cast<const ucontext_t*>(context);
  return (registers->uc_mcontext.gregs[REG_ERR] & kWrite) != 0;
#else
  return context != nullptr;
#endif
}

/// Also makes the pages of this process alone, as a write would.
bool may_be_written(void* begin, std::size_t length) noexcept {
  return madvise(begin, length, MADV_POPULATE_WRITE) == 0;
}

}  // namespace

PageGuard* FaultSignal::shared() noexcept try {
  // It lives as long as its handler, which is for ever.
  static FaultSignal* const made = the_one = new FaultSignal;
  return made->install() ? made : nullptr;
} catch (const std::exception&) {
  return nullptr;
}

FaultSignal::FaultSignal() {
  // Of the thread that forks, in between.
  static std::optional<Hold> fork_hold;
  const int refused = pthread_atfork([] { fork_hold.emplace(*the_one); }, [] { fork_hold.reset(); },
                                     [] {
                                       the_one->forget_all();
                                       fork_hold.reset();
                                     });
  if (refused != 0) throw std::system_error(refused, std::generic_category());
}

bool FaultSignal::installed() noexcept {
  struct sigaction now {};
  return sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
         now.sa_sigaction == on_signal;
}

bool FaultSignal::install() noexcept {
  const Hold hold(*this);
  if (installed()) return true;
  struct sigaction mine {};
  mine.sa_sigaction = on_signal;
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&mine.sa_mask);
  return sigaction(SIGSEGV, nullptr, &before_) == 0 && sigaction(SIGSEGV, &mine, nullptr) == 0;
}

bool FaultSignal::prepare(const GuardedOffer& offer) noexcept {
  // The program may have put its own handler there since.
  return installed() && may_be_written(offer.begin, offer.length);
}

bool FaultSignal::cover(const GuardedOffer& offer) noexcept {
  return mprotect(offer.begin, offer.length, PROT_READ) == 0;
}

void FaultSignal::lift(std::uint64_t begin, std::uint64_t length) noexcept {
  // Fails where there is no memory any more.
  static_cast<void>(mprotect(reinterpret_cast<void*>(begin), length, PROT_READ | PROT_WRITE));
}

bool FaultSignal::answer(std::uint64_t address) noexcept {
  {
    const Hold hold(*this);
    if (on_write(address)) return true;
  }
  // Another thread wrote a moment ago, or this is none of ours.
  return may_be_written(reinterpret_cast<void*>(address / kGuardedPage * kGuardedPage),
                        kGuardedPage);
}

void FaultSignal::on_signal(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const bool answered = info->si_code == SEGV_ACCERR && was_write(context) &&
                        the_one->answer(reinterpret_cast<std::uint64_t>(info->si_addr));
  errno = error;
  if (!answered) the_one->pass_on(number, info, context);
}

void FaultSignal::pass_on(int number, siginfo_t* info, void* context) noexcept {
  const pid_t me = gettid();
  const bool to_program = before_.sa_handler != SIG_DFL && before_.sa_handler != SIG_IGN;
  // A handler that came later than this one may pass its signals on to this one.
  if (!to_program || passing_on_ == me) {
    signal(number, SIG_DFL);
    // The same instruction then ends the process, as it would have without this handler; a signal
    // that somebody sent does not come again by itself.
    if (info->si_code <= 0) raise(number);
    return;
  }
  passing_on_ = me;
  if ((before_.sa_flags & SA_SIGINFO) != 0) {
    before_.sa_sigaction(number, info, context);
  } else {
    before_.sa_handler(number);
  }
  passing_on_ = 0;
}

}  // namespace streams
