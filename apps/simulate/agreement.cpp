// SPDX-License-Identifier: MIT
// Workload agreement: the same decisions and views in the same order, whoever fails, and rows that
// are whole, in order, and do not change once their member was cut off.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "agreement_faults.hpp"
#include "agreement_rows.hpp"
#include "dtutils/wait.hpp"
#include "sst/sst.hpp"
#include "workloads.hpp"

namespace simulate {
namespace {

constexpr std::size_t kDecisions = 15;
/// Of the value that node n proposes as its m-th.
constexpr std::uint64_t kValuesOfANode = 1'000'000;
/// Times that a member tells new facts, so that who waits for others in vain has nothing to do.
constexpr std::uint32_t kTells = 60;
/// Longest from one push of facts to the next.
constexpr std::uint64_t kFactPauseNs = 10'000;
/// So long nobody may write into memory that was made after the tables were gone.
constexpr std::chrono::microseconds kQuiet{100};

/// One node.
class Voter {
 public:
  Voter(dsfabric::Fabric& fabric, const Run& run, Course& course)
      : fabric_(fabric),
        run_(run),
        course_(course),
        me_(fabric.process().value),
        group_(fabric),
        rows_(std::in_place, group_, course),
        agreement_(std::in_place, group_, sst::TableOptions{},
                   [this](std::uint64_t, const std::uint64_t& value) { decided(value); }) {
    note_view();
    // What strikes then strikes those who have begun.
    if (++course.started == run.nodes && run.strikes) course.ends &= strike(run.nodes);
  }

  void work() {
    dtutils::Deadline deadline(kLimit);
    dtutils::Backoff backoff;
    // Many decisions while something fails, or few, so that they last until it is noticed.
    const std::uint64_t seed = run_.options.cluster.seed;
    const std::uint64_t longest = seed % 8 == 7 ? 20'000'000 : seed % 2 == 0 ? 10'000 : 100'000;
    std::chrono::nanoseconds wishes_at{0};
    std::chrono::nanoseconds tells_at{0};
    std::uint32_t tells = 0;
    std::size_t wished_after = kDecisions;
    draw_suspicion();
    while (course_.decided[me_].size() < kDecisions && !deadline.passed()) {
      suspect();
      if (agreement_->state() == sst::AgreementState::kRemoved) break;
      const auto pause = [&](std::uint64_t most) {
        return simulated_.time() + std::chrono::nanoseconds(simulated_.random() % most);
      };
      // Before it can learn that it was removed.
      if (tells < kTells && simulated_.time() >= tells_at) {
        ++tells;
        rows_->tell(simulated_.random());
        tells_at = pause(kFactPauseNs + longest / 4);
      }
      // All of them, whoever leads: who comes next has a wish of its own.
      if (course_.decided[me_].size() != wished_after && simulated_.time() >= wishes_at) {
        wished_after = course_.decided[me_].size();
        agreement_->propose(me_ * kValuesOfANode + ++course_.wishes[me_]);
        wishes_at = pause(longest);
      }
      const bool busy = agreement_->evaluate();
      if (gone()) return;
      note_view();
      rows_->look();
      if (!busy) poll();
      busy ? backoff.reset() : backoff.pause();
    }
    end();
  }

 private:
  /// A node that was taken for dead, and is woken after the run, is no part of it.
  bool gone() const { return simulated_.crashed(me_); }

  /// Some take another one for dead that is not, mostly who leads: then two lead for a while.
  void draw_suspicion() {
    if (!run_.strikes || simulated_.random() % 4 != 0) return;
    const std::uint64_t whom = simulated_.random() % 2 == 0 ? 0 : simulated_.random() % run_.nodes;
    if (whom == me_) return;
    suspected_ = static_cast<std::uint16_t>(whom);
    suspects_at_ = simulated_.time() +
                   std::chrono::nanoseconds(simulated_.random() %
                                            (simulated_.random() % 2 == 0 ? 50'000 : 1'000'000));
    course_.ends = false;
  }
  void suspect() {
    if (simulated_.time() < suspects_at_) return;
    suspects_at_ = dtutils::Simulation::kNever;
    fabric_.fail({suspected_}, "it was suspected in error");
  }

  /// Looks whether a connection of the tables broke, sooner than the failure detector's thread
  /// does, so that more of it falls into the time in which decisions are in progress.
  void poll() {
    for (std::uint16_t i = 0; i < run_.nodes; ++i) {
      if (i == me_ || course_.decided[i].size() == kDecisions) continue;
      dtutils::Transmitter& transmitter = group_.transmitter({i});
      (void)transmitter.progress();
      if (transmitter.broken() && !fabric_.failed({i})) {
        fabric_.fail({i}, "the connection of its tables broke");
      }
    }
  }

  void decided(std::uint64_t value) {
    if (gone()) return;
    course_.decided[me_].push_back(run_.broken && me_ == 1 ? value + 1 : value);
    for (std::uint16_t i = 0; i < run_.nodes; ++i) {
      if (agreement_->includes({i}) || fabric_.state({i}) != dsfabric::PeerState::kFailed) continue;
      if (!rows_->frozen({i})) {
        course_.violated(fmt::format("node {} goes on before node {} was cut off", me_, i));
      }
    }
  }

  void note_view() {
    std::uint64_t view = 0;
    for (std::uint16_t i = 0; i < run_.nodes; ++i) {
      view |= std::uint64_t{agreement_->includes({i})} << i;
    }
    std::vector<std::uint64_t>& views = course_.views[me_];
    if (views.empty() || views.back() != view) views.push_back(view);
  }

  /// What others still write into its tables does not end in other memory.
  void end() {
    agreement_.reset();
    rows_.reset();
    std::vector<dtutils::RDMAMemory> memory;
    for (std::size_t bytes = 512; bytes <= 16 << 10; bytes *= 2) {
      for (int i = 0; i < 4; ++i) {
        memory.push_back(fabric_.general_allocator().allocate(bytes));
        std::memset(memory.back().data(), 0x5a, bytes);
      }
    }
    dtutils::sleep_for(kQuiet);
    for (const dtutils::RDMAMemory& each : memory) {
      const auto* const bytes = reinterpret_cast<const unsigned char*>(each.data());
      if (!gone() && std::any_of(bytes, bytes + each.size(), [](auto b) { return b != 0x5a; })) {
        course_.violated(fmt::format("node {}: others write into memory that they left", me_));
      }
    }
  }

  dsfabric::Fabric& fabric_;
  const Run& run_;
  Course& course_;
  dtutils::Simulation& simulated_ = *dtutils::Simulation::current();
  const std::uint32_t me_;
  std::uint16_t suspected_ = 0;
  std::chrono::nanoseconds suspects_at_ = dtutils::Simulation::kNever;
  sst::TableGroup group_;
  std::optional<Rows> rows_;
  std::optional<sst::Agreement<std::uint64_t>> agreement_;
};

/// Where two histories differ, and neither ends.
std::optional<std::size_t> difference(const std::vector<std::uint64_t>& one,
                                      const std::vector<std::uint64_t>& other) {
  const auto [here, there] = std::ranges::mismatch(one, other);
  if (here == one.end() || there == other.end()) return std::nullopt;
  return here - one.begin();
}

std::string check(const Course& course, const std::vector<bool>& lived, bool failures) {
  const auto nodes = static_cast<std::uint32_t>(course.decided.size());
  for (std::uint32_t one = 0; one < nodes; ++one) {
    const std::vector<std::uint64_t>& decided = course.decided[one];
    const bool had_to = !failures || (course.ends && course.started == nodes && lived[one]);
    if (had_to && decided.size() < kDecisions) {
      return fmt::format("node {} has {} decisions of {}", one, decided.size(), kDecisions);
    }
    for (const std::uint64_t value : decided) {
      const std::uint64_t proposer = value / kValuesOfANode;
      if (proposer < nodes && value % kValuesOfANode - 1 < course.wishes[proposer]) continue;
      return fmt::format("node {} has decided {}, which nobody has proposed", one, value);
    }
    for (std::uint32_t other = 0; other < one; ++other) {
      if (const auto at = difference(decided, course.decided[other])) {
        return fmt::format("decision {} is {} at node {} and {} at node {}", *at, decided[*at], one,
                           course.decided[other][*at], other);
      }
      if (const auto at = difference(course.views[one], course.views[other])) {
        return fmt::format("view {} is {:b} at node {} and {:b} at node {}", *at,
                           course.views[one][*at], one, course.views[other][*at], other);
      }
    }
  }
  return course.violation;
}

}  // namespace

Outcome run_agreement(const Run& run) {
  Course course(run.nodes);
  // What was drawn may keep those that live from each other.
  course.ends = !run.failures;
  std::vector<bool> lived(run.nodes);
  const auto program = [&](dsfabric::Fabric& fabric) {
    Voter(fabric, run, course).work();
    lived[fabric.process().value] =
        !dtutils::Simulation::current()->crashed(fabric.process().value);
  };
  const bool failures = run.failures || run.strikes;
  return run_checked({run.nodes, run.options, failures, run.strikes, run.broken}, program,
                     [&] { return check(course, lived, failures); });
}

}  // namespace simulate
