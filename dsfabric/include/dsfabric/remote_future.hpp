// SPDX-License-Identifier: MIT
// The result of a remote call as a value that comes later.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "dsfabric/call_status.hpp"
#include "dsfabric/detail/future_pool.hpp"
#include "dsfabric/travels.hpp"
#include "dtutils/detail/scope_exit.hpp"
#include "dtutils/error.hpp"

namespace dsfabric {

template <class Channel>
class Calls;
template <class T>
class RemoteFuture;

namespace detail {

template <class G, class T>
inline constexpr bool kTakesValue = std::is_invocable_v<G&, T>;
template <class G>
inline constexpr bool kTakesValue<G, void> = std::is_invocable_v<G&>;

template <class T>
struct Arrival;

/// The coroutine goes on in progress() once the result has come, unless the state is abandoned.
void resume_when_done(FutureState& state, std::coroutine_handle<> waiting) noexcept;

}  // namespace detail

/// What `call_return(to, f)` gives: the value of f, or the news that f was executed (void), once it
/// has come.
///
///     auto sum = calls.call_return(to, [a, b] { return a + b; });
///     ...                               // the call is on its way
///     fmt::print("{}\n", sum.get());    // waits, and serves incoming calls meanwhile
///
/// A future that is destroyed before its result has come is safe: the call runs, and its result is
/// forgotten. Futures of one thread use the same memory again and again, so they allocate nothing
/// once as many have been there as are needed at a time. At most 4096 results may be awaited in a
/// process at once, futures and slots together; a further call answers kFull.
///
/// A result that is no plain data (a std::string, say) takes kMaxPackedResult bytes at most; of a
/// larger one, get() throws the Error that it was.
///
/// Owner thread only: the thread that made the call. The fabric outlives it.
template <class T>
class [[nodiscard]] RemoteFuture {
  static_assert(detail::SlotLayout<T>::kPlain || Travelling<T>,
                "cariama: the result of a remote call cannot travel. Plain data, std::string, "
                "std::vector, std::optional, pairs and tuples of what travels can; for a type of "
                "your own specialize dsfabric::Travels<T>.");
  static constexpr std::uint32_t kWordOffset = detail::SlotLayout<T>::kWordOffset;

 public:
  /// An empty one, which no call belongs to.
  RemoteFuture() noexcept = default;
  /// Takes the call over; `other` is empty afterwards.
  RemoteFuture(RemoteFuture&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  /// The same; the result of the call that it had is forgotten.
  RemoteFuture& operator=(RemoteFuture&& other) noexcept {
    RemoteFuture moved(std::move(other));
    std::swap(state_, moved.state_);
    return *this;
  }
  RemoteFuture(const RemoteFuture&) = delete;
  RemoteFuture& operator=(const RemoteFuture&) = delete;
  ~RemoteFuture() {
    if (state_ != nullptr) state_->pool.abandon(*state_);
  }

  /// Whether a call belongs to it, whose result was not taken yet. The functions below need one.
  bool valid() const noexcept { return state_ != nullptr; }
  /// What the call was answered. One that was not accepted has failed: ready() is true, and get()
  /// throws.
  CallStatus status() const noexcept { return state_->status; }
  /// Whether the result, or the failure of the call, is there. It becomes true while this thread
  /// makes progress.
  bool ready() const noexcept { return state_->done(); }

  /// Waits at most for `timeout`, serving incoming calls. True: ready() is. Throws Error where a
  /// handler outside a fiber would have to wait, or the future is empty, and what handlers throw.
  bool wait_for(std::chrono::nanoseconds timeout) {
    require_call("RemoteFuture::wait_for()");
    if (ready()) return true;
    if (timeout <= std::chrono::nanoseconds(0)) return false;
    detail::require_may_wait(state_->fabric(), "RemoteFuture::wait_for()");
    return state_->word().wait_for(timeout) != dtutils::Synchronizer::Outcome::kTimeout;
  }

  /// Waits, serving incoming calls, and gives the result; the future is empty afterwards. Throws
  /// dtutils::Error with the text of an exception of the callable, PeerFailed when the process that
  /// was called is gone, and Error when the call was not accepted. Throws Error where an inline
  /// handler would have to wait here, and what handlers throw: then the future is kept. Throws
  /// Error when it is empty.
  T get() {
    require_call("RemoteFuture::get()");
    state_->wait("RemoteFuture::get()");
    // Also when the call has failed.
    const dtutils::detail::ScopeExit done(
        [&]() noexcept { state_->pool.give_back(*std::exchange(state_, nullptr)); });
    state_->finish();
    if constexpr (!detail::SlotLayout<T>::kPlain) {
      return unpack();
    } else if constexpr (!std::is_void_v<T>) {
      return *std::launder(reinterpret_cast<const T*>(state_->value(kWordOffset)));
    }
  }

  /// When the result has come, a progress() of this thread calls `g(value)`, or `g()` for void; or
  /// `g(RemoteFuture<T>)`, whose get() does not wait and throws what the call failed of. A failure
  /// that g cannot be told, and what g throws, goes to Fabric::on_exception. g runs as a handler
  /// outside a fiber: it may call, but waits for nothing. Continuations run in no fixed order. The
  /// end of run() and wait_for_termination() wait for those of workers. A g of at most 64 bytes is
  /// kept without an allocation. The future is empty afterwards.
  template <class G>
  void then(G&& g) {
    using Kept = std::decay_t<G>;
    static_assert(detail::kTakesValue<Kept, T> || std::is_invocable_v<Kept&, RemoteFuture>,
                  "cariama: what follows a call is called with its value (with nothing for void), "
                  "or with the RemoteFuture, which tells of a failure too.");
    if constexpr (sizeof(Kept) <= detail::FutureState::kContinuation &&
                  alignof(Kept) <= alignof(std::max_align_t)) {
      attach<Kept>(*state_, std::forward<G>(g));
    } else {
      auto outside = [kept = std::make_unique<Kept>(std::forward<G>(g))](RemoteFuture ready) {
        RemoteFuture::run(*kept, std::move(ready));
      };
      attach<decltype(outside)>(*state_, std::move(outside));
    }
    state_ = nullptr;
  }

  /// In a coroutine (task.hpp): goes on with the result, as get(), once it has come; the thread
  /// serves on meanwhile. The future must live until then.
  auto operator co_await() noexcept {
    struct Awaiter {
      RemoteFuture& future;
      bool await_ready() const noexcept { return future.ready(); }
      void await_suspend(std::coroutine_handle<> waiting) const noexcept {
        detail::resume_when_done(*future.state_, waiting);
      }
      T await_resume() const { return future.get(); }
    };
    return Awaiter{*this};
  }

 private:
  template <class Channel>
  friend class Calls;
  friend struct detail::Arrival<T>;

  void require_call(const char* what) const {
    if (state_ == nullptr) [[unlikely]] {
      throw dtutils::Error(what, "no call belongs to the future",
                           "use what call_return gave, and take its result once");
    }
  }
  explicit RemoteFuture(detail::FuturePool& pool)
      : state_(&pool.take(detail::FuturePool::class_of(kWordOffset))) {}

  /// Throws PeerFailed when the bytes are invalid: then the process that sent them is failed.
  T unpack() {
    try {
      Unpacker in(detail::packed_result(state_->value(kWordOffset)));
      T value = in.template value<T>();
      if (in.left() == 0) return value;
    } catch (const CorruptBytes&) {
    }
    state_->throw_corrupt();
  }

  template <class G>
  static void run(G& g, RemoteFuture ready) {
    if constexpr (!detail::kTakesValue<G, T>) {
      g(std::move(ready));
    } else if constexpr (std::is_void_v<T>) {
      ready.get();
      g();
    } else {
      g(ready.get());
    }
  }

  template <class G>
  static G& kept(detail::FutureState& state) noexcept {
    return *std::launder(reinterpret_cast<G*>(state.continuation));
  }
  template <class G, class From>
  static void attach(detail::FutureState& state, From&& from) {
    new (state.continuation) G(std::forward<From>(from));
    state.pool.attach(
        state,
        [](detail::FutureState& its) {
          RemoteFuture ready;
          ready.state_ = &its;
          G g(std::move(kept<G>(its)));
          std::destroy_at(&kept<G>(its));
          run(g, std::move(ready));
        },
        [](detail::FutureState& its) noexcept { std::destroy_at(&kept<G>(its)); });
  }

  detail::FutureState* state_ = nullptr;
};

}  // namespace dsfabric
