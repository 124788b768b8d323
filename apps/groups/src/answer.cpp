// SPDX-License-Identifier: MIT
// The queue of those who wait for what this process has sent.
#include "groups/answer.hpp"

namespace groups::detail {

void WaitingAnswers::add(AnswerBase* answer) noexcept {
  AnswerBase*& place = places_[next_++ & mask_];
  place = answer;
  if (answer == nullptr) return;
  answer->state_ = AnswerState::kPending;
  answer->place_ = &place;
}

void WaitingAnswers::finish(std::uint64_t ticket, AnswerState state) noexcept {
  if (ticket != first_ || empty()) return;
  if (AnswerBase* const answer = places_[first_++ & mask_]; answer != nullptr) {
    answer->state_ = state;
    answer->place_ = nullptr;
  }
}

void WaitingAnswers::finish_all(AnswerState state) noexcept {
  while (!empty()) finish(first_, state);
}

}  // namespace groups::detail
