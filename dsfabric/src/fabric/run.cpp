// SPDX-License-Identifier: MIT
// Fabric::run: the life of the workers.
#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "dsfabric/termination.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/detail/scope_exit.hpp"
#include "dtutils/error.hpp"
#include "dtutils/joinable_thread.hpp"
#include "dtutils/wait.hpp"
#include "fabric/impl.hpp"

namespace dsfabric {

void Fabric::run(const std::function<void(Thread&)>& work) {
  if (!work) {
    throw dtutils::Error("run()", "there is no work",
                         "give it the function that workers shall run");
  }
  if (impl_->running.exchange(true)) {
    throw dtutils::Error("run()", "an earlier run() of this process has not returned yet",
                         "call it from the thread that joined, and once at a time: what workers "
                         "shall do belongs into their work");
  }
  const dtutils::detail::ScopeExit ended([&]() noexcept { impl_->running = false; });
  Collectives& collectives = impl_->collectives;
  OwnFailure& own_failure = impl_->own_failure;
  std::mutex mutex;
  std::exception_ptr first;
  // Before the others are told, whose exceptions follow from this one.
  const auto keep_first = [&](std::exception_ptr thrown) {
    const std::scoped_lock lock(mutex);
    first = first ? first : std::move(thrown);
  };
  // Of an elastic job, whose processes end their runs by themselves: workers here that still work.
  std::atomic<std::uint32_t> working = info(process()).threads;
  const auto end_alone = [&](Thread& self) {
    impl_->termination.end_alone(self);
    --working;
    dtutils::Backoff backoff;
    while (working != 0 && !own_failure.declared()) {
      self.progress() ? backoff.reset() : backoff.pause();
    }
  };
  const auto worker = [&](std::uint32_t index) {
    ThreadContext& context = impl_->threads.worker(index);
    Thread self(*this, context, impl_->threads, impl_->connections, impl_->messages, collectives);
    try {
      const std::vector<int>& cores = impl_->meeting.placement.cores;
      if (!cores.empty()) {
        dtutils::pin_thread(cores[index]);
      }
      impl_->thread_starts.run(self);
      if (!impl_->elastic()) collectives.quiet_barrier(context, Collective::kRunBegins);
      context.working = true;
      work(self);
      if (impl_->elastic()) return end_alone(self);
      impl_->termination.drain(self, context);
      collectives.quiet_barrier(context, Collective::kRunEnds);
    } catch (const std::exception& error) {
      keep_first(std::current_exception());
      own_failure.declare(std::string("a worker threw: ") + error.what());
    } catch (...) {
      keep_first(std::current_exception());
      own_failure.declare("a worker threw something other than a std::exception");
    }
  };
  std::vector<dtutils::JoinableThread> threads;
  for (std::uint32_t i = 0; i < info(process()).threads; ++i) {
    threads.emplace_back([&worker, i] { worker(i); });
  }
  for (dtutils::JoinableThread& thread : threads) {
    thread.join();
  }
  if (first) {
    std::rethrow_exception(first);
  }
  if (own_failure.declared()) {
    throw PeerFailed(process(), "run()", own_failure.reason());
  }
  if (const std::uint64_t lost = impl_->termination.lost(); lost != 0) {
    throw dtutils::Error(
        "run()",
        fmt::format("{} calls of the job were not executed within {} ms after its workers had "
                    "ended",
                    lost, config().leave_timeout.count()),
        "look for fibers whose wait never ends and for threads that go on calling, or raise the "
        "setting leave_timeout");
  }
}

}  // namespace dsfabric
