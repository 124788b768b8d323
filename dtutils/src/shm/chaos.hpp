// SPDX-License-Identifier: MIT
// The adversarial mode's choices for one queue pair: seeded, so that a run can be repeated.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "dtutils/adversary.hpp"
#include "shm/completion.hpp"

namespace dtutils::shm {

/// A completion of executed work that the engine still holds back.
struct HeldCompletion {
  Completion completion;
  /// Signaled or failed; others are forgotten when their turn comes.
  bool wanted;
  /// False while the answer of a READ or atomic is on its way.
  bool landed;
};

/// A READ or atomic that has been executed as far as its target, see late_answers.hpp.
struct LateAnswer {
  ibv_send_wr request;
  std::vector<ibv_sge> elements;
  std::uint64_t position;
  /// Of an atomic.
  std::uint64_t old_value;
};

/// Under the send lock of its queue pair. It may allocate: the adversarial mode is for tests.
struct Chaos {
  Chaos(const Adversary& settings, std::uint32_t qp_index)
      : adversary(settings), engine(settings.seed * 0x9e3779b97f4a7c15u + qp_index) {}

  std::uint64_t random() noexcept { return engine(); }
  /// True once in `n` calls on average; never for n == 0.
  bool once_in(std::uint64_t n) noexcept { return n != 0 && random() % n == 0; }

  /// One SEND in `rnr_every` is told that its receiver is not ready, each at most once.
  bool inject_rnr() noexcept {
    if (rnr_injected || !once_in(adversary.rnr_every)) {
      rnr_injected = false;
      return false;
    }
    rnr_injected = true;
    return true;
  }

  const Adversary adversary;
  std::mt19937_64 engine;
  bool rnr_injected = false;
  /// Requests at send queue positions below this were counted by the engine.
  std::uint64_t counted = 0;
  /// In the order of the posts, both.
  std::deque<HeldCompletion> held;
  std::deque<LateAnswer> late;
};

}  // namespace dtutils::shm
