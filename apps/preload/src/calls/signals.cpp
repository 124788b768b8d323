// SPDX-License-Identifier: MIT
// Exported: how handlers of signals are installed.
#include "signals.hpp"

#include "real.hpp"

using namespace preload;

#pragma GCC visibility push(default)
extern "C" {

int sigaction(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
  return set_action(signal, action, before);
}

sighandler_t signal(int signal, sighandler_t handler) noexcept {
  return set_handler(signal, handler, real().signal);
}
sighandler_t sysv_signal(int signal, sighandler_t handler) noexcept {
  return set_handler(signal, handler, real().sysv_signal);
}
sighandler_t __sysv_signal(int signal, sighandler_t handler) noexcept {
  return sysv_signal(signal, handler);
}

}  // extern "C"
#pragma GCC visibility pop
