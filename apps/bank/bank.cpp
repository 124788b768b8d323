// SPDX-License-Identifier: MIT
// A bank whose accounts lie in all processes of a job: everybody transfers, the sum never changes.
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <random>
#include <string>

#include "common/command_line.hpp"
#include "common/figures.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/wait.hpp"
#include "ledger.hpp"
#include "monitoring/monitoring.hpp"
#include "simulation/cariama_main.hpp"
#include "simulation/simulation.hpp"

namespace {

using Clock = dtutils::Clock;

struct Options {
  std::uint64_t accounts = 16;
  std::uint64_t seconds = 5;
  std::uint64_t milliseconds = 0;
  bool kill_one = false;
  std::string json;

  std::chrono::milliseconds time() const {
    return milliseconds != 0 ? std::chrono::milliseconds(milliseconds)
                             : std::chrono::seconds(seconds);
  }
};

/// What the workers of this process have done.
struct Counts {
  explicit Counts(dsfabric::Fabric& fabric)
      : board(fabric), transfers(board.counter("bank.transfers")) {}
  monitoring::Board board;
  monitoring::Counter transfers;
  std::atomic<std::uint64_t> finished{0};
  std::atomic<bool> wrong{false};
};

/// Where the living wait for each other; a barrier would end with the first death.
class Meeting {
 public:
  explicit Meeting(dsfabric::Thread& self)
      : self_(self), words_(self, self.fabric().total_threads() * sizeof(std::uint64_t)) {
    std::memset(words_.data(), 0, words_.size());
    self.barrier();
  }
  void meet() {
    dsfabric::Fabric& fabric = self_.fabric();
    const std::uint64_t value = ++times_;
    const std::size_t mine = fabric.rank_of(self_.id()) * sizeof value;
    for (std::uint32_t rank = 0; rank < fabric.total_threads(); ++rank) {
      const dsfabric::ThreadId to = fabric.thread_of_rank(rank);
      (void)self_.transmitter(to.process)
          .write({const_cast<std::uint64_t*>(&value), sizeof value, 0},
                 words_.at(to).part(mine, sizeof value), dtutils::kInlined);
    }
    const auto* const words = reinterpret_cast<const std::uint64_t*>(words_.data());
    for (std::uint32_t rank = 0; rank < fabric.total_threads(); ++rank) {
      const dsfabric::ProcessId other = fabric.thread_of_rank(rank).process;
      dtutils::Backoff backoff;
      while (dtutils::load_device_word(&words[rank]) < value &&
             fabric.state(other) == dsfabric::PeerState::kActive) {
        self_.progress() ? backoff.reset() : backoff.pause();
      }
    }
  }

 private:
  dsfabric::Thread& self_;
  dsfabric::SymmetricBuffer words_;
  std::uint64_t times_ = 0;
};

/// The first worker of the first process that lives speaks for all.
bool speaks(dsfabric::Thread& self) {
  for (std::uint16_t i = 0; i < self.id().process.value; ++i) {
    if (self.fabric().state({i}) == dsfabric::PeerState::kActive) return false;
  }
  return self.id().index == 0;
}

std::uint32_t living_accounts(const bank::Ledger& ledger) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < ledger.accounts(); ++i) count += !ledger.lost(i);
  return count;
}

/// Audits until no home fails meanwhile, and says what it found.
bank::Ledger::Audit report(dsfabric::Thread& self, bank::Ledger& ledger, const std::string& when,
                           Counts& counts) {
  bank::Ledger::Audit audit;
  for (;;) {
    try {
      audit = ledger.audit();
    } catch (const dsfabric::PeerFailed&) {
      continue;
    }
    if (audit.accounts == living_accounts(ledger)) break;
  }
  for (std::uint32_t first = 0, i = 1; i <= ledger.accounts(); ++i) {
    if (i != ledger.accounts() && ledger.home_of(i) == ledger.home_of(first)) continue;
    if (ledger.lost(first)) {
      fmt::print("{}: lost with process {}: accounts {} to {}\n", when, ledger.home_of(first).value,
                 first, i - 1);
    }
    first = i;
  }
  const bool right = audit.sum == bank::kOpening * audit.accounts;
  if (!right) counts.wrong = true;
  fmt::print("{}: {} transfers by process {}, the sum of {} accounts is {}, {}\n", when,
             counts.transfers.value(), self.id().process.value, audit.accounts, audit.sum,
             right ? "as at the beginning" : "which is WRONG");
  std::fflush(stdout);
  return audit;
}

void work(dsfabric::Thread& self, const Options& options, Counts& counts) {
  bank::Ledger ledger(self, static_cast<std::uint32_t>(options.accounts));
  monitoring::WorkerFigures figures(self, counts.board);
  figures.total("locks.requested", [&] { return ledger.locks().counters().requested; });
  figures.total("locks.waited", [&] { return ledger.locks().counters().waited; });
  Meeting meeting(self);
  std::mt19937 random(self.fabric().rank_of(self.id()) + 1);
  const bool victim = options.kill_one && self.id() == dsfabric::ThreadId{{1}, 0};
  const Clock::time_point begin = Clock::now();
  const auto seconds = [&](std::uint64_t n) { return begin + std::chrono::seconds(n); };
  for (std::uint64_t line = 1; Clock::now() < begin + options.time();) {
    // Another worker of this process, if there is one, is in the middle of a transfer.
    if (victim && Clock::now() - begin > options.time() / 2) simulation::die();
    if (Clock::now() >= seconds(line)) {
      if (speaks(self)) report(self, ledger, fmt::format("{} s", line), counts);
      ++line;
    }
    for (int i = 0; i < 64; ++i) {
      const auto from = static_cast<std::uint32_t>(random() % ledger.accounts());
      const auto to = static_cast<std::uint32_t>(random() % ledger.accounts());
      try {
        ledger.transfer(from, to, static_cast<std::int64_t>(random() % 10));
        counts.transfers.add();
      } catch (const dsfabric::PeerFailed&) {
        // A home is gone; the next transfer leaves its accounts alone.
      }
    }
    self.progress();
  }
  counts.finished += ledger.finished_for_others();
  meeting.meet();
  if (speaks(self)) {
    const bank::Ledger::Audit audit = report(self, ledger, "end", counts);
    if (!options.json.empty()) {
      common::write_json(options.json,
                         {{"processes", self.fabric().processes()},
                          {"accounts", audit.accounts},
                          {"lost_accounts", ledger.accounts() - audit.accounts},
                          {"seconds", std::chrono::duration<double>(options.time()).count()},
                          {"transfers_here", counts.transfers.value()},
                          {"sum", static_cast<std::uint64_t>(audit.sum)},
                          {"sum_is_right", std::uint64_t{!counts.wrong}}});
    }
  }
  meeting.meet();
}

}  // namespace

int cariama_main(int argc, char** argv) try {
  Options options;
  dsfabric::Config config;
  common::CommandLine line{
      "Moves money between accounts in all processes of a job, under two locks each, and prints "
      "once a second what all accounts hold together. Start several by scripts/run."};
  line.option("--accounts", options.accounts, "Accounts of each worker", 2, 256)
      .option("--seconds", options.seconds, "How long", 1, 86'400)
      .option("--milliseconds", options.milliseconds, "How long, instead of --seconds; 0: those", 0,
              86'400'000)
      .flag("--kill-one", options.kill_one, "Process 1 is killed when half of the time is over")
      .option("--json", options.json, "Also write the figures to this file");
  if (const auto status = line.parse(argc, argv, config)) return *status;
  dsfabric::Fabric fabric = dsfabric::join(config);
  Counts counts(fabric);
  // For cariama-top.
  const monitoring::Sampler sampler(fabric);
  std::optional<monitoring::Reporter> reporter;
  if (fabric.process().value == 0) reporter.emplace(fabric);
  std::atomic<bool> ended{false};
  try {
    fabric.run([&](dsfabric::Thread& self) {
      work(self, options, counts);
      ended = true;
    });
  } catch (const dsfabric::PeerFailed&) {
    // The end of run() is a collective; the work of this process has ended before.
    if (!ended) throw;
  }
  return counts.wrong ? EXIT_FAILURE : EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "bank: {}\n", error.what());
  return EXIT_FAILURE;
}
