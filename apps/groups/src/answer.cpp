// SPDX-License-Identifier: MIT
// The queue of those who wait for what this process has sent.
#include "groups/answer.hpp"

#include <fmt/format.h>

#include <bit>

#include "dtutils/error.hpp"

namespace groups::detail {

WaitingAnswers::WaitingAnswers(std::uint32_t places) : mask_(places - 1), places_(places) {
  if (!std::has_single_bit(places)) {
    throw dtutils::Error("groups::Replicated", fmt::format("{} pending updates", places),
                         "let as many wait as a power of two says");
  }
}

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
