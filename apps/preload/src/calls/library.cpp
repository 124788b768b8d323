// SPDX-License-Identifier: MIT
// What happens when the library is loaded, and when the process ends.
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "asynchronous.hpp"
#include "connection.hpp"
#include "descriptors.hpp"
#include "fork.hpp"
#include "holders.hpp"
#include "hosts/settings.hpp"
#include "process.hpp"
#include "real.hpp"

namespace {

[[gnu::constructor]] void begin() {
  preload::real();
  preload::is_this_process();
  preload::prepare_holders();
  preload::take_part_in_forks();
  // The program may change its user, its root and its environment.
  preload::hosts::between_hosts();
}

/// For how long peers may leave their streams whose connections other processes have, too.
constexpr int kStepsOfGivingUp = 100;
constexpr timespec kStepOfGivingUp{0, 2'000'000};

bool give_up_all() noexcept {
  bool done = true;
  preload::for_each_entry([&done](int fd, const preload::Entry&) {
    const auto connection = preload::table().lock<preload::Connection>(fd);
    if (connection && !connection->give_up(fd)) done = false;
  });
  return done;
}

/// Threads of the program may go on with their connections, so those stay as they are.
void end() noexcept {
  if (!preload::is_this_process()) return;
  for (int i = 0; i < kStepsOfGivingUp && !give_up_all(); ++i) nanosleep(&kStepOfGivingUp, nullptr);
  preload::for_each_entry([](int fd, const preload::Entry&) {
    const auto connection = preload::table().lock<preload::Connection>(fd);
    if (connection) connection->end_with_process(fd);
  });
  preload::settle_before_exit();
}

[[gnu::destructor]] void end_by_exit() { end(); }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void _exit(int status) {
  end();
  preload::real().exit_now(status);
  __builtin_unreachable();
}
void _Exit(int status) noexcept { _exit(status); }

}  // extern "C"
#pragma GCC visibility pop
