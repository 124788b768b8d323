// SPDX-License-Identifier: MIT
// Threads of the device: they take no signals, since those belong to the program.
#pragma once

#include <pthread.h>

#include <csignal>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"

namespace dtutils::shm {

/// Throws Error when the system has no thread left. Setup only.
template <class Body>
std::unique_ptr<std::thread> start_service_thread(Body body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::unique_ptr<std::thread> thread;
  int code = 0;
  try {
    thread = std::make_unique<std::thread>([body = std::move(body)]() mutable {
      ask_for_short_slices();
      body();
    });
  } catch (const std::system_error& error) {
    code = error.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (code != 0) {
    throw Error("shm", "the device's thread cannot be started", "raise `ulimit -u`", code);
  }
  return thread;
}

}  // namespace dtutils::shm
