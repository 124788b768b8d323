// SPDX-License-Identifier: MIT
// Fibers of one thread: handlers that may wait while the thread goes on serving.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dsfabric/call_context.hpp"
#include "dsfabric/detail/function_table.hpp"
#include "dsfabric/detail/peer_counts.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/synchronizer.hpp"
#include "dtutils/wait_hook.hpp"

namespace riutils {

namespace detail {
struct Fiber;
class SanitizedStack;
class StackSlab;
}  // namespace detail

/// What a user may choose about a FiberPool.
struct FiberOptions {
  /// Bytes of a stack, rounded up to pages, at least 16 KiB. A guard page below it is extra: a
  /// handler that uses more than its stack ends the process with SIGSEGV instead of writing into
  /// the next one. Only pages that were touched take memory.
  std::size_t stack_size = std::size_t{64} << 10;
  /// Fibers at once. Each takes two of the kernel's vm.max_map_count mappings (65530 by default,
  /// for the whole process).
  std::uint32_t max_fibers = 16'384;
  /// Stacks made at the start, and each time when those that there are do not suffice.
  std::uint32_t step = 64;
  /// How long the destructor waits for fibers that have not ended.
  std::chrono::milliseconds drain_timeout{30'000};
};

/// Runs handlers on stacks of their own. A handler that waits there (Synchronizer::wait, hence
/// ReturnSlot::get; a full ring; FiberMutex) is suspended, and the thread goes on serving;
/// progress() resumes it once its wait is over. A handler that does not wait runs to its end at
/// once, so that handlers start in the order of their calls; those that wait end later. Fibers of
/// one pool never run at the same time, and never move to another thread.
///
/// A fiber counts as a running handler (dsfabric::HandlerScope): what it calls takes messages in,
/// but runs no other handler on its stack. Collectives are not for fibers.
///
/// One pool a thread: in_fiber() calls and receivers find it by themselves. The destructor serves
/// until all fibers have ended; those that still wait after FiberOptions::drain_timeout are
/// abandoned, and their stacks leaked, since a peer may still write to what they wait for. So make
/// the pool after all that its fibers use (locks::LockSpace, memory::Client, tables, variables of
/// the worker's function): an exception that leaves this function then ends the pool before them.
///
/// Owner thread only, unless a method says otherwise.
class FiberPool {
 public:
  /// For the calling thread. If it is a worker, its Thread::progress() resumes what is ready; any
  /// other thread calls progress() here itself. Throws Error when the thread has a pool, when the
  /// options make no sense, or when there is no memory. Setup only.
  explicit FiberPool(dsfabric::Thread& self, const FiberOptions& options = {});
  /// The same for a thread that is not a worker.
  explicit FiberPool(dsfabric::Fabric& fabric, const FiberOptions& options = {});
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;
  ~FiberPool();

  /// The pool of the calling thread, or nullptr; and whether a fiber of it is calling. Any thread,
  /// wait-free.
  static FiberPool* current() noexcept { return mine(); }
  /// Whether a fiber of this thread is calling. Any thread, wait-free.
  static bool inside() noexcept { return mine() != nullptr && mine()->running_ != nullptr; }

  /// What run() did.
  enum class Outcome : std::uint8_t {
    /// It has ended, or waits.
    kRun,
    /// Nothing was done: all stacks are taken by fibers that wait. Later there may be one.
    kNoStack,
    /// Nothing was done: the record is larger than a quarter of a stack.
    kTooLarge,
  };
  /// Runs one call as a fiber until it ends or waits for the first time. `payload` is copied, so
  /// its bytes are free again afterwards; so is `call`. Inside a fiber it is just run. Called where
  /// handlers run (under HandlerScope). What the handler throws before its first wait passes
  /// through; what it throws later goes to Fabric::report_exception.
  [[nodiscard]] Outcome run(dsfabric::Invoke handler, std::byte* payload, std::uint32_t bytes,
                            dsfabric::CallContext& call);
  /// The same in the pool of the calling thread; where that is not possible, `handler` is run on
  /// the stack of the caller. Any thread.
  static void run_here(dsfabric::Invoke handler, std::byte* payload, std::uint32_t bytes,
                       dsfabric::CallContext& call);
  /// Throws the Error of a call that should run in a fiber of the calling thread and cannot: why
  /// its last run() did nothing, or that it has no pool. Any thread.
  [[noreturn]] static void throw_no_fiber();

  /// Checks some fibers that wait, and resumes those whose wait is over. True when one was. Throws
  /// what fibers throw, when the fabric has no upcall for it.
  bool progress();

  /// One step of waiting for something other than a Synchronizer, such as room in a ring. In a
  /// fiber it suspends the fiber until the next progress(). Elsewhere it makes the progress of the
  /// thread's wait hook; false when the hook found nothing to do, so that the waiter backs off.
  static bool wait_step();

  /// Fibers that have waited and have not ended. Any thread, wait-free.
  std::uint32_t unfinished() const noexcept {
    return static_cast<std::uint32_t>(unfinished_.sum());
  }
  /// Fibers with calls of these processes that have waited and have not ended. Any thread,
  /// wait-free. Acquire: a thread that sees a fiber gone sees what it did.
  std::uint64_t unfinished(std::span<const dsfabric::ProcessId> processes) const noexcept {
    return unfinished_.sum(processes);
  }
  /// Fibers that were made so far, in use or not.
  std::uint32_t made() const noexcept { return made_; }
  /// As given, with the size of a stack rounded up.
  const FiberOptions& options() const noexcept { return options_; }

 private:
  struct Waiter {
    /// What it waits for; nullptr: only for its next turn.
    const dtutils::Synchronizer* on;
    dtutils::WaitEnd until;
    detail::Fiber* fiber;
  };

  static FiberPool*& mine() noexcept {
    thread_local constinit FiberPool* pool = nullptr;
    return pool;
  }
  static bool wait_hook(void* pool, const dtutils::Synchronizer& waited, dtutils::WaitEnd end);
  dsfabric::ProgressHook progress_hook() noexcept;
  [[gnu::always_inline]] Outcome start(dsfabric::Invoke handler, std::byte* payload,
                                       std::uint32_t bytes, dsfabric::CallContext& call);
  void grow();
  bool find_free();
  [[gnu::always_inline]] void switch_to(detail::Fiber& fiber);
  std::exception_ptr end(detail::Fiber& fiber) noexcept;
  void suspend(const dtutils::Synchronizer* on, dtutils::WaitEnd until);
  bool resume(detail::Fiber& fiber);
  void drain() noexcept;

  dsfabric::Fabric& fabric_;
  dsfabric::Thread* const worker_;
  FiberOptions options_;
  std::uint32_t largest_record_;
  dtutils::WaitHook before_;
  /// Where the C++ runtime keeps the exceptions that the thread handles.
  void* const exceptions_;
  std::unique_ptr<detail::SanitizedStack> thread_stack_;

  detail::Fiber* running_ = nullptr;
  detail::Fiber* free_ = nullptr;
  std::vector<Waiter> waiting_;
  std::size_t next_ = 0;
  /// Number of fibers that wait for a limited time.
  std::uint32_t timed_ = 0;
  dsfabric::detail::PeerCounts unfinished_;
  std::uint32_t made_ = 0;
  std::string kernel_refusal_;
  bool too_large_ = false;
  std::vector<detail::StackSlab> slabs_;
};

}  // namespace riutils
