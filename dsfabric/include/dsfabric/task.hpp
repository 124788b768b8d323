// SPDX-License-Identifier: MIT
// Coroutines that await the results of calls: in handlers and in the work of a worker.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsfabric/detail/frame_pool.hpp"
#include "dsfabric/detail/task_calls.hpp"
#include "dsfabric/handler_scope.hpp"
#include "dsfabric/remote_future.hpp"
#include "dtutils/synchronizer.hpp"

namespace dsfabric {

template <class T = void>
class Task;

namespace detail {

/// What all promises of tasks have: they begin when they are awaited, and go on with who awaits.
class TaskPromiseBase : public PooledFrame {
 public:
  static std::suspend_always initial_suspend() noexcept { return {}; }
  struct Final {
    static bool await_ready() noexcept { return false; }
    template <std::derived_from<TaskPromiseBase> P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> ended) const noexcept {
      return ended.promise().awaiting_;
    }
    static void await_resume() noexcept {}
  };
  static Final final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { thrown_ = std::current_exception(); }
  void set_awaiting(std::coroutine_handle<> awaiting) noexcept { awaiting_ = awaiting; }

 protected:
  void rethrow() {
    if (thrown_) std::rethrow_exception(std::move(thrown_));
  }

 private:
  std::coroutine_handle<> awaiting_ = std::noop_coroutine();
  std::exception_ptr thrown_;
};

template <class T>
class TaskPromise : public TaskPromiseBase {
 public:
  Task<T> get_return_object() noexcept;
  template <class From>
  requires std::convertible_to<From&&, T>
  void return_value(From&& from) {
    value_.emplace(std::forward<From>(from));
  }
  T take() {
    rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};
template <>
class TaskPromise<void> : public TaskPromiseBase {
 public:
  Task<void> get_return_object() noexcept;
  static void return_void() noexcept {}
  void take() { rethrow(); }
};

}  // namespace detail

/// What a coroutine returns that awaits results: `co_await` of a RemoteFuture, of another Task, of
/// when_all. It begins when it is awaited, or given to sync_wait, or when it is the function of a
/// call:
///
///     calls.call_return(to, [next](CallContext& call) -> dsfabric::Task<int> {
///       SendChannel calls(call.fabric);
///       co_return co_await calls.call_return(next, [] { return 5; }) + 1;
///     });
///
/// The call ends when its coroutine has ended: then its value goes home. Until then its callable,
/// its arguments and its CallContext are kept, and the thread serves on; after a co_await a
/// coroutine goes on in progress(), as a handler outside a fiber, so it waits for nothing but by
/// co_await. The parameters and captures of any other coroutine are its maker's care: they must
/// live until it has ended, so it takes its parameters by value.
///
/// Frames are pooled by thread. A Task that is destroyed before its end ends its coroutine where it
/// is. Owner thread only: it is made, resumed and destroyed on one thread.
template <class T>
class [[nodiscard]] Task {
 public:
  /// For the compiler.
  using promise_type = detail::TaskPromise<T>;
  /// What it ends with.
  using Value = T;

  /// Takes the coroutine over; `other` is empty afterwards.
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  /// The same; the coroutine that it had ends where it is.
  Task& operator=(Task&& other) noexcept {
    Task moved(std::move(other));
    std::swap(frame_, moved.frame_);
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (frame_) frame_.destroy();
  }

  /// Begins it, and goes on with its value when it has ended; throws what it threw. Once.
  auto operator co_await() noexcept {
    struct Awaiter {
      std::coroutine_handle<promise_type> frame;
      static bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) const noexcept {
        frame.promise().set_awaiting(awaiting);
        return frame;
      }
      T await_resume() const { return frame.promise().take(); }
    };
    return Awaiter{frame_};
  }

 private:
  friend promise_type;
  template <class U>
  friend U sync_wait(Fabric& fabric, Task<U> task);

  void begin() const { frame_.resume(); }
  explicit Task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

namespace detail {

/// How a task has ended.
template <class T>
struct TaskOutcome {
  std::optional<T> value;
  std::exception_ptr thrown;
};
template <>
struct TaskOutcome<void> {
  std::exception_ptr thrown;
};

template <class T>
Task<T> TaskPromise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

/// Becomes ready with a future, and leaves the result where it is.
template <class T>
struct Arrival {
  RemoteFuture<T>& future;
  bool await_ready() const noexcept { return future.ready(); }
  void await_suspend(std::coroutine_handle<> waiting) const noexcept {
    resume_when_done(*future.state_, waiting);
  }
  static void await_resume() noexcept {}
};

/// Awaits a task, and tells when it has ended.
template <class T>
Task<void> tell_end(Task<T>& task, TaskOutcome<T>& outcome, dtutils::Synchronizer& ended) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await task;
    } else {
      outcome.value.emplace(co_await task);
    }
  } catch (...) {
    outcome.thrown = std::current_exception();
  }
  ended.decrement();
}

}  // namespace detail

/// Runs a task to its end, serving incoming calls meanwhile, and gives its value, or throws what it
/// threw: how a worker that is not a coroutine uses one. Throws Error where a handler outside a
/// fiber would have to wait, and what handlers throw: then the task ends where it is. Owner thread
/// only.
template <class T>
T sync_wait(Fabric& fabric, Task<T> task) {
  detail::TaskOutcome<T> outcome;
  dtutils::Synchronizer ended(1);
  Task<void> told = detail::tell_end(task, outcome, ended);
  told.begin();
  if (!ended.done()) detail::require_may_wait(fabric, "sync_wait()");
  (void)ended.wait();
  if (outcome.thrown) std::rethrow_exception(std::move(outcome.thrown));
  if constexpr (!std::is_void_v<T>) return std::move(*outcome.value);
}

/// The values of all futures, in their order, once all have come; throws the failure of the first
/// that has one. The calls are on their way already, so nothing is gained by awaiting them one by
/// one. Owner thread only.
template <class T>
requires(!std::is_void_v<T>)
Task<std::vector<T>> when_all(std::vector<RemoteFuture<T>> futures) {
  for (RemoteFuture<T>& future : futures) co_await detail::Arrival<T>{future};
  std::vector<T> values;
  values.reserve(futures.size());
  for (RemoteFuture<T>& future : futures) values.push_back(future.get());
  co_return values;
}
/// The same for calls that give nothing.
inline Task<void> when_all(std::vector<RemoteFuture<void>> futures) {
  for (RemoteFuture<void>& future : futures) co_await detail::Arrival<void>{future};
  for (RemoteFuture<void>& future : futures) future.get();
}
/// The same for futures of several types.
template <class... T>
requires(sizeof...(T) != 0 && (!std::is_void_v<T> && ...))
Task<std::tuple<T...>> when_all(RemoteFuture<T>... futures) {
  (co_await detail::Arrival<T>{futures}, ...);
  co_return std::tuple<T...>{futures.get()...};
}

}  // namespace dsfabric
