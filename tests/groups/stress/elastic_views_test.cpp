// SPDX-License-Identifier: MIT
// Elastic jobs whose members are killed, stopped, sent away and replaced at random moments, under
// traffic: histories agree, and nobody believes that a majority is lost that is not.
#include <bit>
#include <cstdlib>
#include <string>
#include <vector>

#include "groups/stress/elastic_life.hpp"
#include "support/catch.hpp"

using dsfabric::Fabric;
using support::bit_of;
using support::ElasticForkJob;
using support::ElasticMemory;
using support::ElasticPlan;
using support::Histories;
using support::kGone;
using support::kLeave;
using support::kNumbers;
using support::kOutcast;
using support::kViews;
using support::Life;
using support::Random;
using support::Set;

namespace {

constexpr std::uint32_t kProcesses = 48;
constexpr std::uint32_t kMostMembers = 6;

class Round {
 public:
  Round(const ElasticPlan& plan, const Histories& histories)
      : plan_(plan),
        histories_(histories),
        random_(plan.seed + 1),
        job_(plan.founders, kProcesses, life(0)),
        words_(job_.memory().words),
        each_(plan.founders) {
    settle();
  }

  /// So many kills and joins, and what lies between them.
  void run(int changes) {
    dtutils::Deadline deadline(support::kSlowdown * support::kPatience);
    while (changes > 0) {
      if (deadline.passed()) FAIL("no member can be lost for long: " << report());
      std::this_thread::sleep_for(std::chrono::microseconds(random_.size_up_to(20'000)));
      resume_some(3);
      changes -= do_something();
    }
    resume_some(1);
    settle();
    resume_some(1);
    words_[support::kFinal] = staying();
    for (std::size_t i = 0; i < each_.size(); ++i) {
      INFO("process " << i);
      CHECK(job_.wait(i) == (each_[i].killed ? "killed" : ""));
    }
    REQUIRE(histories_.check(kProcesses) == "");
  }

 private:
  struct Process {
    bool killed = false;
    /// It was told to leave, or is stopped for so long that the others remove it.
    bool leaves = false;
    bool outcast = false;
    bool stopped = false;
  };

  ElasticForkJob::Body life(std::size_t index) const {
    return [this, index](Fabric& fabric, ElasticMemory& memory) {
      // Founders are started with one life, and have the numbers of their places.
      const std::size_t place = index < plan_.founders ? fabric.process().value : index;
      Life(fabric, memory, histories_, plan_, place).run();
    };
  }

  Set number(std::size_t i) const {
    return words_[kNumbers + i] == 0 ? 0 : bit_of(words_[kNumbers + i] - 1);
  }
  Set staying() const {
    Set all = 0;
    for (std::size_t i = 0; i < each_.size(); ++i) {
      if (stays(i)) all |= number(i);
    }
    return all;
  }
  bool stays(std::size_t i) const { return !each_[i].killed && !each_[i].leaves; }
  std::size_t how_many_stay() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < each_.size(); ++i) count += stays(i);
    return count;
  }

  /// Those that stay are in a view of them alone.
  void settle() {
    const auto settled = [&] {
      for (std::size_t i = 0; i < each_.size(); ++i) {
        if (stays(i) && (number(i) == 0 || words_[kViews + i] != staying())) return false;
      }
      return true;
    };
    if (support::eventually(settled, support::kSlowdown * support::kPatience)) return;
    FAIL("not all come to one view: " << report());
  }
  /// Ends all of them.
  std::string report() {
    std::string text;
    for (std::size_t i = 0; i < each_.size(); ++i) {
      text +=
          fmt::format("\n{}: number {:#x} view {:#x}{} {}", i, number(i), words_[kViews + i].load(),
                      each_[i].leaves ? " leaves" : "", job_.wait(i, std::chrono::milliseconds(1)));
    }
    return text;
  }

  /// Whether more than half of each view that somebody is in, or may come to next, go on without
  /// this process. One that was killed while it joined may be a member of the next view, as long as
  /// others do not know of its death.
  bool may_lose(std::size_t victim) const {
    const Set lost = number(victim);
    Set killed = lost;
    Set known = ~Set{0};
    Set told = 0;
    for (std::size_t i = 0; i < each_.size(); ++i) {
      if (each_[i].killed) killed |= number(i);
      if (each_[i].killed || each_[i].outcast || words_[kViews + i] == 0) continue;
      told |= words_[kViews + i];
      known &= words_[kGone + i];
    }
    const Set doubtful = killed & ~known & ~told;
    for (std::size_t i = 0; i < each_.size(); ++i) {
      const Set view = words_[kViews + i];
      if (each_[i].killed || each_[i].outcast || view == 0) continue;
      const int go_on = std::popcount(view & staying() & ~lost);
      if (2 * go_on <= std::popcount(view) + std::popcount(doubtful)) return false;
    }
    return true;
  }

  /// Some process that was not killed, and not told to leave.
  std::size_t someone() {
    std::size_t i;
    do {
      i = random_.below(each_.size());
    } while (!stays(i));
    return i;
  }

  /// The number of kills and joins: 0 or 1.
  int do_something() {
    const std::size_t victim = someone();
    const std::size_t what = random_.below(8);
    if (what < 3 && may_lose(victim)) {
      each_[victim].killed = true;
      job_.kill(victim);
      return 1;
    }
    if (what < 6 && how_many_stay() < kMostMembers) {
      each_.emplace_back();
      job_.add(life(each_.size() - 1));
      return 1;
    }
    if (what == 6) {
      job_.stop(victim);
      each_[victim].stopped = true;
    } else if (what == 7 && words_[kViews + victim] != 0 && may_lose(victim)) {
      each_[victim].leaves = true;
      // Whoever can be suspected is, in every other case.
      if (plan_.patience.count() != 0 && random_.one_in(2)) {
        words_[kOutcast + victim] = 1;
        each_[victim].outcast = true;
        each_[victim].stopped = false;
        job_.stop(victim);
      } else {
        words_[kLeave + victim] = 1;
      }
    }
    return 0;
  }

  /// Some of those that are stopped, one in so many.
  void resume_some(std::size_t one_in) {
    for (std::size_t i = 0; i < each_.size(); ++i) {
      if (each_[i].stopped && random_.one_in(one_in)) {
        job_.resume(i);
        each_[i].stopped = false;
      }
      if (each_[i].outcast && is_removed(i)) {
        job_.resume(i);
        each_[i].outcast = false;
      }
    }
  }
  bool is_removed(std::size_t outcast) const {
    for (std::size_t i = 0; i < each_.size(); ++i) {
      if (stays(i) && (words_[kViews + i] & number(outcast)) != 0) return false;
    }
    return true;
  }

  const ElasticPlan plan_;
  const Histories& histories_;
  Random random_;
  ElasticForkJob job_;
  std::atomic<std::uint64_t>* const words_;
  std::vector<Process> each_;
};

}  // namespace

TEST_CASE("histories_agree_whoever_is_killed_stopped_and_replaced_and_when") {
  const std::uint64_t first = support::test_seed();
  const bool chosen = std::getenv("CARIAMA_SHM_ADVERSARY") != nullptr;
  constexpr int kChanges = 20;
  const int rounds = support::rounds(4);
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(round);
    INFO("CARIAMA_TEST_SEED=" << seed);
    if (!chosen && seed % 2 == 0) unsetenv("CARIAMA_SHM_ADVERSARY");
    if (!chosen && seed % 2 == 1) setenv("CARIAMA_SHM_ADVERSARY", std::to_string(seed).c_str(), 1);
    const Histories histories;
    Round(support::make_elastic_plan(seed), histories).run(kChanges);
  }
}
