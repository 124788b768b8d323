// SPDX-License-Identifier: MIT
// Where the result of an update or a read of a replicated object arrives.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace groups {

namespace detail {
class WaitingAnswers;
}  // namespace detail

/// What is known of an update or a read.
enum class AnswerState : std::uint8_t {
  /// It was given to no update or read, or that one was not accepted.
  kNone,
  /// It has not been delivered here yet.
  kPending,
  /// It was delivered, and ran.
  kReady,
  /// It threw an exception, which came out of progress().
  kThrew,
  /// This process is no member any more: the others may have delivered it or not.
  kUnknown,
};

/// What is the same for all types of results.
class AnswerBase {
 public:
  AnswerBase() = default;
  AnswerBase(const AnswerBase&) = delete;
  AnswerBase& operator=(const AnswerBase&) = delete;
  /// May end while it is pending; then the result goes nowhere.
  ~AnswerBase() {
    if (place_ != nullptr) *place_ = nullptr;
  }
  /// What is known. Owner thread only.
  AnswerState state() const noexcept { return state_; }
  /// The result is there. Owner thread only.
  bool ready() const noexcept { return state_ == AnswerState::kReady; }

 private:
  friend class detail::WaitingAnswers;
  AnswerState state_ = AnswerState::kNone;
  /// Where the object has written down who waits.
  AnswerBase** place_ = nullptr;
};

/// A result of type R. May be used again when it is not pending. Owner thread only.
template <class R>
class Answer : public AnswerBase {
 public:
  /// Once ready().
  const R& value() const noexcept { return *value_; }
  /// For the object that answers.
  void set(R&& value) noexcept(std::is_nothrow_move_assignable_v<R>) { value_ = std::move(value); }

 private:
  std::optional<R> value_;
};

/// An update without a result: only that it ran.
template <>
class Answer<void> : public AnswerBase {};

namespace detail {

/// The answers of what this process has sent and not yet delivered, in order.
class WaitingAnswers {
 public:
  /// Throws Error when `places` is no power of two.
  explicit WaitingAnswers(std::uint32_t places);
  WaitingAnswers(const WaitingAnswers&) = delete;
  WaitingAnswers& operator=(const WaitingAnswers&) = delete;
  ~WaitingAnswers() { finish_all(AnswerState::kUnknown); }

  bool full() const noexcept { return next_ - first_ == mask_ + 1; }
  bool empty() const noexcept { return next_ == first_; }
  /// The ticket that add() gives out.
  std::uint64_t next() const noexcept { return next_; }
  /// `answer` may be nullptr. Not when full.
  void add(AnswerBase* answer) noexcept;
  /// The answer of this ticket, which is the oldest one; nullptr when nobody waits.
  AnswerBase* at(std::uint64_t ticket) const noexcept {
    return ticket == first_ && !empty() ? places_[ticket & mask_] : nullptr;
  }
  /// The oldest one is done.
  void finish(std::uint64_t ticket, AnswerState state) noexcept;
  /// All of them are done.
  void finish_all(AnswerState state) noexcept;

 private:
  std::uint32_t mask_;
  std::vector<AnswerBase*> places_;
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace detail
}  // namespace groups
