// SPDX-License-Identifier: MIT
// The whole framework as a program sees it: run(), and think() inside.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/clock.hpp"
#include "mcts/worker.hpp"

namespace mcts {

/// What the root's worker tells all others to do next.
enum class Step : std::uint8_t { kBegin, kPhase, kAudit, kEnd };

template <Game G>
struct Command {
  Step step = Step::kEnd;
  Settings settings;
  std::uint64_t rollouts = 0;
  G position = G();
};

/// The root's worker, as the driver of run() gets it. Owner thread only.
template <Game G, SearchChannel Channel>
class Searcher {
 public:
  /// Called a few times a second while a search runs, with what is known so far.
  using Progress = std::function<void(const Report&)>;

  explicit Searcher(Worker<G, Channel>& worker) : worker_(worker) {}
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;

  /// Searches from an ongoing position with all workers of the job. When a process is lost, the
  /// report holds the best found until then and says so in `failure`; from then on the searcher
  /// answers every search with that failure. Throws Error when the game is over, or no memory.
  Report think(const G& position, const Settings& settings, const Limits& limits,
               const Progress& progress = {}) {
    check(position, settings);
    Report report;
    report.failure = failure_;
    if (!failure_.empty()) return report;
    const auto begin = Clock::now();
    const auto end = begin + duration(limits.seconds);
    settings_ = settings;
    bool planted = false;
    try {
      tell({Step::kBegin, settings, 0, position});
      worker_.begin(position, settings);
      planted = true;
      search(report, limits, begin, end, progress);
    } catch (const dsfabric::PeerFailed& failed) {
      report.failure = failure_ = failed.what();
      if (planted) report.total = worker_.counters();
    }
    if (planted) fill_in(report);
    report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return report;
  }

  /// Worker::audit of the last tree, for tests.
  std::uint64_t audit() {
    tell({Step::kAudit, settings_, 0, G()});
    return worker_.audit();
  }

  dsfabric::Fabric& fabric() const noexcept { return worker_.thread().fabric(); }

  /// Ends the others. run() does it.
  void end() {
    if (failure_.empty()) tell({Step::kEnd, settings_, 0, G()});
  }

 private:
  using Clock = dtutils::Clock;
  static constexpr std::chrono::milliseconds kProgressInterval{200};
  static constexpr std::size_t kLongestLine = 12;

  static void check(const G& position, const Settings& settings) {
    if (position.outcome() != Outcome::kOngoing) {
      throw dtutils::Error("search", "the game is over", "ask before the last move");
    }
    if (settings.playouts == 0 || settings.playouts > 1024) {
      throw dtutils::Error("search", "playouts a leaf must be 1 to 1024", "choose such a number");
    }
  }
  static Clock::duration duration(double seconds) {
    constexpr double kLongest = 1e8;
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(std::clamp(seconds, 0.0, kLongest)));
  }
  void tell(const Command<G>& command) { worker_.thread().broadcast(command, {}); }

  void search(Report& report, const Limits& limits, Clock::time_point begin, Clock::time_point end,
              const Progress& progress) {
    auto due = begin + kProgressInterval;
    const auto watch = [&](Clock::time_point now) {
      if (!progress || now < due) return;
      due = now + kProgressInterval;
      report.seconds = std::chrono::duration<double>(now - begin).count();
      fill_in(report);
      progress(report);
    };
    while (report.total.started < limits.rollouts && Clock::now() < end &&
           (report.proven == Outcome::kOngoing || !settings_.stop_when_proven)) {
      const std::uint64_t left = limits.rollouts - report.total.started;
      const std::uint64_t rollouts = std::min(left, std::max<std::uint64_t>(limits.phase, 1));
      tell({Step::kPhase, settings_, rollouts, G()});
      report.total = worker_.phase(rollouts, end, watch);
      report.proven = worker_.shared().tree.proven();
      ++report.phases;
    }
    report.line = worker_.line(kLongestLine);
  }
  void fill_in(Report& report) {
    const Children* children = worker_.shared().root->children.load(std::memory_order_acquire);
    if (children == nullptr) return;
    report.moves = report_moves(*children, 2.0 * settings_.playouts);
    if (report.line.empty() && !report.moves.empty()) report.line = {report.moves.front().move};
  }

  Worker<G, Channel>& worker_;
  Settings settings_;
  std::string failure_;
};

/// Searches in a job, without any communication in the user's code: on the first worker of process
/// 0 it runs `driver(Searcher&)`, on all others it takes part in what the driver asks for, until
/// the driver returns. A collective of all processes; throws what the driver throws, and PeerFailed
/// at the others when a process is lost. `memory` limits the tree of each process, in bytes: at the
/// limit no more nodes are made, and rollouts go on with playouts from where they are.
template <Game G, SearchChannel Channel, class Driver>
void run(dsfabric::Fabric& fabric, std::size_t memory, Driver&& driver) {
  static_assert(sizeof(G) <= 2048, "a position must fit into one call");
  Shared<G> shared(memory, fabric.info(fabric.process()).threads);
  fabric.run([&](dsfabric::Thread& self) {
    Worker<G, Channel> worker(self, shared);
    if (worker.is_root()) {
      Searcher<G, Channel> searcher(worker);
      driver(searcher);
      searcher.end();
    } else {
      for (;;) {
        const auto command = self.broadcast(Command<G>{}, {});
        if (command.step == Step::kEnd) break;
        if (command.step == Step::kBegin) worker.begin(command.position, command.settings);
        if (command.step == Step::kPhase) {
          worker.phase(command.rollouts, dtutils::Clock::time_point::max(), [](auto) {});
        }
        if (command.step == Step::kAudit) worker.audit();
      }
    }
  });
}

}  // namespace mcts
