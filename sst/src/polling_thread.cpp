// SPDX-License-Identifier: MIT
// PollingThread: the loop.
#include "sst/polling_thread.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <utility>

#include "dsfabric/call_context.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"

namespace sst {

PollingThread::PollingThread(dsfabric::Fabric& fabric,
                             std::initializer_list<dsfabric::ProgressHook> tables,
                             const PollingThreadOptions& options)
    : fabric_(fabric), tables_(tables), pace_(fabric) {
  thread_ = dtutils::JoinableThread([this, options] { run(options); });
  if (!options.core) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(*options.core), &only);
  if (const int code = pthread_setaffinity_np(thread_.native_handle(), sizeof only, &only);
      code != 0) {
    end();
    thread_.join();
    throw dtutils::Error("detector", fmt::format("it may not run on core {}", *options.core),
                         "name a core of this machine that this process may use", code);
  }
}

PollingThread::~PollingThread() {
  end();
  if (thread_.joinable()) thread_.join();
  // Out of a destructor: ends the process with the text of the exception.
  if (thrown_ && !reported_) std::rethrow_exception(thrown_);
}

void PollingThread::stop() {
  end();
  if (thread_.joinable()) thread_.join();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void PollingThread::run(const PollingThreadOptions& options) noexcept {
  try {
    // Relaxed: nothing else is read that the one who ends it has written.
    while (!ending_.load(std::memory_order_relaxed)) {
      bool busy = false;
      for (const dsfabric::ProgressHook& table : tables_) {
        busy = table.step(table.context) || busy;
      }
      if (!options.never_rests) {
        pace_.after(busy);
      } else if (!busy) {
        dtutils::found_nothing();
      }
    }
  } catch (...) {
    thrown_ = std::current_exception();
    const auto nobody = dsfabric::ThreadId::service_of(fabric_.process());
    try {
      fabric_.report_exception({fabric_, nobody, nullptr}, thrown_);
      reported_ = true;
    } catch (...) {
      // There is no upcall.
    }
  }
}

}  // namespace sst
