// SPDX-License-Identifier: MIT
// An object of which each member of a group has a copy: updates run in the same order at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsfabric/callable.hpp"
#include "dsfabric/program.hpp"
#include "groups/answer.hpp"
#include "groups/ordered_group.hpp"

namespace groups {

/// What a replicated object gives to a process that joins: its own bytes where it is plain data,
/// else what its methods say.
template <class T>
concept Transferable = std::is_trivially_copyable_v<T> ||
                       requires(T& object, const T& source, std::span<const std::byte> state) {
                         { source.snapshot() } -> std::same_as<std::vector<std::byte>>;
                         object.restore(state);
                       };

namespace detail {

/// What an update finds when it runs.
template <class T>
struct UpdateContext : dsfabric::CallContext {
  T* object;
  /// nullptr: nobody here waits.
  AnswerBase* answer;
};

/// The call that travels for an update F.
template <class T, class F>
struct Apply {
  F function;
  using Result = std::invoke_result_t<F&, T&>;
  void operator()(dsfabric::CallContext& call) {
    auto& context = static_cast<UpdateContext<std::remove_const_t<T>>&>(call);
    T& object = *context.object;
    if constexpr (std::is_void_v<Result>) {
      function(object);
    } else if (context.answer != nullptr) {
      static_cast<Answer<Result>*>(context.answer)->set(function(object));
    } else {
      (void)function(object);
    }
  }
};

/// Before the callable, in a message.
struct UpdateHead {
  std::uint32_t function;
  /// 1: only the sender runs it.
  std::uint32_t read;
  std::uint64_t ticket;
};
static_assert(sizeof(UpdateHead) == 16);

}  // namespace detail

/// A T at each member of an OrderedGroup (Derecho, TOCS 2019, section 2: replicated objects).
///
///     groups::Replicated<Account> account{tables, {}};
///     groups::Answer<bool> done;
///     account.try_update([amount](Account& a) { return a.withdraw(amount); }, &done);
///     while (!done.ready()) account.progress();
///     account.query([](const Account& a) { return a.balance; });
///
/// An update is a callable with plain captures, as a remote call (dsfabric/callable.hpp), that is
/// called with the T&. It runs at all members, in one order, so it may depend on the object and its
/// captures only: not on the clock, the process, or random numbers; those are captured. Its result
/// at the sender goes into the Answer.
///
/// query() runs here, at once: it sees all that this member has delivered, and what it sees later
/// is never older. try_read() is linearizable: it takes a place in the order, and sees all updates
/// and reads of any member that had an answer before it was sent. Only the sender runs it.
///
/// What is promised of order and deaths is said at OrderedGroup. All processes of the job run the
/// same program; otherwise the constructor throws. Owner thread only, all of it.
template <class T>
requires Transferable<T>
class Replicated {
 public:
  /// Bytes that GroupOptions::max_message has to have for a callable of so many bytes.
  static constexpr std::uint32_t message_bytes(std::size_t callable) noexcept {
    return static_cast<std::uint32_t>(sizeof(detail::UpdateHead) + callable);
  }

  /// A collective, as OrderedGroup's. `first` is the same everywhere. At most `pending` updates and
  /// reads of this process (a power of two, else it throws Error) wait for their delivery. Setup
  /// only.
  explicit Replicated(sst::TableGroup& tables, GroupOptions options = {}, T first = T{},
                      std::uint32_t pending = 1024)
      : object_(std::move(first)),
        waiting_(pending),
        context_{
            {tables.fabric(), {tables.fabric().process(), dsfabric::ThreadId::kService}, nullptr},
            nullptr,
            nullptr},
        group_(tables, for_this_program(std::move(options)),
               {.deliver = [this](const Delivery& message) { deliver(message); },
                .view =
                    [this](const View& view) {
                      if (on_view) on_view(view);
                    },
                .snapshot = [this](std::uint64_t) { return snapshot(); },
                .restore = [this](std::span<const std::byte> state,
                                  std::uint64_t) { restore(state); }}) {}
  Replicated(const Replicated&) = delete;
  Replicated& operator=(const Replicated&) = delete;

  /// Sends `change`, which is called as change(T&) at all members. Never waits. When it is not
  /// accepted, nothing happens to `answer`.
  template <class F>
  [[nodiscard]] SendStatus try_update(
      const F& change, Answer<std::invoke_result_t<F&, T&>>* answer = nullptr) noexcept {
    return send(detail::Apply<T, F>{change}, 0, answer);
  }
  /// Sends a place in the order, at which ask(const T&) is called here. Never waits.
  template <class F>
  [[nodiscard]] SendStatus try_read(const F& ask,
                                    Answer<std::invoke_result_t<F&, const T&>>* answer) noexcept {
    return send(detail::Apply<const T, F>{ask}, 1, answer);
  }
  /// ask(const T&), on what was delivered here.
  template <class F>
  decltype(auto) query(F&& ask) const {
    return std::invoke(std::forward<F>(ask), std::as_const(object_));
  }

  /// As OrderedGroup::progress(), after which answers may be ready. Throws also what an update
  /// throws: that is the same at all members.
  bool progress() {
    const bool did = group_.progress();
    const GroupState now = group_.state();
    if (now == GroupState::kRemoved || now == GroupState::kOutside) {
      waiting_.finish_all(AnswerState::kUnknown);
    }
    return did;
  }
  /// For flush(), join(), leave(), state() and so on; not for sending.
  OrderedGroup& group() noexcept { return group_; }
  /// See above.
  const OrderedGroup& group() const noexcept { return group_; }

  /// Called in progress() for each new view; may be empty.
  std::function<void(const View&)> on_view;

 private:
  static GroupOptions for_this_program(GroupOptions options) {
    // Options that differ are refused, and this makes programs that differ.
    options.name += " of program " + std::to_string(dsfabric::program_digest());
    return options;
  }

  template <class Call>
  SendStatus send(const Call& call, std::uint32_t read, AnswerBase* answer) noexcept {
    static_assert(dsfabric::RemoteCallable<Call>,
                  "cariama: an update may capture only plain data by value, up to kMaxCallable "
                  "bytes; no references, pointers to functions, strings or containers.");
    if (waiting_.full()) return SendStatus::kFull;
    const Reservation slot = group_.try_reserve(message_bytes(sizeof call));
    if (!slot) return slot.status;
    const detail::UpdateHead head{dsfabric::function_index<Call>(), read, waiting_.next()};
    std::memcpy(slot.data, &head, sizeof head);
    std::memcpy(slot.data + sizeof head, &call, sizeof call);
    group_.commit();
    waiting_.add(answer);
    return SendStatus::kAccepted;
  }

  void deliver(const Delivery& message) {
    detail::UpdateHead head;
    std::memcpy(&head, message.bytes.data(), sizeof head);
    const bool mine = message.sender == group_.process();
    if (head.read != 0 && !mine) return;
    const std::span<const std::byte> call = message.bytes.subspan(sizeof head);
    const auto bytes = static_cast<std::uint32_t>(call.size());
    const dsfabric::Invoke invoke = dsfabric::function_at(head.function, bytes);
    if (invoke == nullptr || bytes > sizeof scratch_) return;
    // A copy, since it may change its captures, and since the slot is not aligned for them.
    std::memcpy(scratch_, call.data(), bytes);
    context_.object = &object_;
    context_.answer = mine ? waiting_.at(head.ticket) : nullptr;
    try {
      invoke(scratch_, bytes, context_);
    } catch (...) {
      if (mine) waiting_.finish(head.ticket, AnswerState::kThrew);
      throw;
    }
    if (mine) waiting_.finish(head.ticket, AnswerState::kReady);
  }

  std::vector<std::byte> snapshot() const {
    if constexpr (std::is_trivially_copyable_v<T>) {
      const auto* const from = reinterpret_cast<const std::byte*>(&object_);
      return {from, from + sizeof object_};
    } else {
      return object_.snapshot();
    }
  }
  void restore(std::span<const std::byte> state) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      std::memcpy(&object_, state.data(), sizeof object_);
    } else {
      object_.restore(state);
    }
  }

  T object_;
  detail::WaitingAnswers waiting_;
  detail::UpdateContext<T> context_;
  alignas(8) std::byte scratch_[dsfabric::kMaxCallable];
  OrderedGroup group_;
};

}  // namespace groups
