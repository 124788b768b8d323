// SPDX-License-Identifier: MIT
// A process of an elastic job that takes part in an ordered group until the test tells it to end.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "dsfabric/support/elastic_job.hpp"
#include "groups/support/ordered_job.hpp"

namespace support {

/// Processes, by their numbers in the job, as bits.
using Set = std::uint64_t;

/// Of ElasticMemory::words. Those from kNumbers on are one for each process that the test started.
enum ElasticStressWord : std::size_t {
  /// Who is to be a member at the end; before it is set, all go on.
  kFinal,
  kDrained,
  /// Its number in the job, and 1; 0: it has none yet.
  kNumbers = 64,
  /// The members of its view; empty before its first one, and when it has ended.
  kViews = 128,
  /// Who had failed or left, when it was last working.
  kGone = 192,
  /// It is to leave.
  kLeave = 256,
  /// It is to find out that it was removed.
  kOutcast = 320,
};

inline Set bit_of(std::size_t process) { return Set{1} << process; }

/// What is random about a job as a whole.
struct ElasticPlan {
  std::uint64_t seed = 0;
  std::uint32_t founders = 0;
  std::size_t ballast = 0;
  std::chrono::milliseconds patience{0};
};

inline ElasticPlan make_elastic_plan(std::uint64_t seed) {
  Random random(seed);
  ElasticPlan plan{seed, static_cast<std::uint32_t>(3 + random.below(3)), 0, {}};
  if (random.one_in(3)) plan.ballast = 200'000;
  if (random.one_in(4)) plan.patience = std::chrono::milliseconds(2000) * kSlowdown;
  return plan;
}

/// A process of such a job: it joins, sends, makes progress, and tells what it sees.
class Life {
 public:
  Life(dsfabric::Fabric& fabric, ElasticMemory& memory, const Histories& histories,
       const ElasticPlan& plan, std::size_t index)
      : fabric_(fabric),
        words_(memory.words),
        index_((words_[kNumbers + index] = fabric.process().value + 1u, index)),
        random_(plan.seed * 31 + index),
        tables_(fabric, {.threads = 1}),
        part_(tables_, words_, histories,
              {.max_message = 24, .slots = 8, .patience = plan.patience}, plan.ballast) {}

  void run() {
    part_.ordered.join();
    auto end = std::chrono::steady_clock::now() + 4 * kPatience;
    for (std::uint64_t steps = 0; !is_over(); ++steps) {
      if (words_[kLeave + index_] != 0) part_.ordered.leave();
      if (words_[kFinal] == 0 && random_.one_in(2)) {
        (void)part_.try_send(static_cast<std::uint32_t>(8 + random_.below(17)));
      }
      part_.step();
      tell(steps);
      if (words_[kFinal] != 0) {
        end = std::min(end, std::chrono::steady_clock::now() + kPatience / 2);
      }
      if (std::chrono::steady_clock::now() > end) fail(describe());
    }
    words_[kViews + index_] = 0;
  }

 private:
  std::string describe() const {
    std::string text = part_.ordered.describe();
    for (std::uint16_t i = 0; i < fabric_.processes(); ++i) {
      if (!fabric_.failed({i})) continue;
      text += fmt::format("; {} failed: {}", i, fabric_.failure_reason({i}));
    }
    return text;
  }

  bool is_over() {
    const groups::GroupState state = part_.ordered.state();
    if (state == groups::GroupState::kRemoved || state == groups::GroupState::kMajorityLost) {
      // The test leaves a majority of each view alive.
      if (words_[kOutcast + index_] == 0) fail(describe());
      return true;
    }
    if (words_[kLeave + index_] != 0) return state == groups::GroupState::kOutside;
    const Set last = words_[kFinal];
    if (last == 0 || words_[kViews + index_] != last || part_.ordered.undelivered() != 0) {
      return false;
    }
    part_.meet(kDrained, static_cast<std::uint64_t>(std::popcount(last)));
    return true;
  }

  void tell(std::uint64_t steps) {
    Set members = 0;
    for (const auto member : part_.ordered.view().members) members |= bit_of(member.value);
    words_[kViews + index_] = members;
    if (steps % 16 != 0 || part_.ordered.state() != groups::GroupState::kWorking) return;
    Set gone = 0;
    for (std::uint16_t i = 0; i < fabric_.processes(); ++i) {
      const bool there =
          fabric_.exists({{i}, 0}) && fabric_.state({i}) == dsfabric::PeerState::kActive;
      if (!there) gone |= bit_of(i);
    }
    words_[kGone + index_] = gone;
  }

  dsfabric::Fabric& fabric_;
  std::atomic<std::uint64_t>* const words_;
  const std::size_t index_;
  Random random_;
  sst::TableGroup tables_;
  OrderedPart part_;
};

}  // namespace support
