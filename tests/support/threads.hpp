// SPDX-License-Identifier: MIT
// Threads of a test whose failures reach the test.
#pragma once

#include <exception>
#include <mutex>
#include <vector>

#include "dtutils/joinable_thread.hpp"

namespace support {

/// Runs functions on threads; the first exception of any of them is thrown again by `join`.
class Threads {
 public:
  Threads() = default;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { wait(); }

  template <class Body>
  void start(Body body) {
    threads_.emplace_back([this, body] {
      try {
        body();
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failed_) failed_ = std::current_exception();
      }
    });
  }

  void join() {
    wait();
    if (failed_) std::rethrow_exception(failed_);
  }

 private:
  void wait() {
    for (dtutils::JoinableThread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::mutex mutex_;
  std::exception_ptr failed_;
  std::vector<dtutils::JoinableThread> threads_;
};

}  // namespace support
