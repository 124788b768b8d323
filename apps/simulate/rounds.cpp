// SPDX-License-Identifier: MIT
// Workload rounds: collectives of all workers and of groups, with writes and messages in between.
#include <fmt/format.h>

#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "workloads.hpp"

namespace simulate {
namespace {

constexpr std::uint64_t kRounds = 6;

/// What came, from each worker to each worker; the nodes share it.
struct Mail {
  explicit Mail(std::uint32_t its_workers)
      : workers(its_workers), last(std::size_t{its_workers} * its_workers) {}
  std::uint32_t workers;
  /// The number of the message that came last.
  std::vector<std::uint64_t> last;
  std::string violation;

  void violated(std::string how) {
    if (violation.empty()) violation = std::move(how);
  }
};

struct Letter {
  Mail* mail;
  std::uint32_t from;
  std::uint32_t to;
  std::uint64_t number;

  void operator()() const {
    std::uint64_t& last = mail->last[std::size_t{from} * mail->workers + to];
    if (number != last + 1) {
      mail->violated(fmt::format("message {} from worker {} to worker {} came after message {}",
                                 number, from, to, last));
    }
    last = number;
  }
};

/// One worker.
class Member {
 public:
  Member(dsfabric::Thread& self, Mail& mail)
      : self_(self),
        mail_(mail),
        total_(self.fabric().total_threads()),
        mine_(self.fabric().rank_of(self.id())),
        words_(self, (total_ + 1) * sizeof(std::uint64_t)),
        calls_(self.fabric()) {}

  /// Writes to all and sends to all; after the barrier all that was written is there.
  void meet(std::uint64_t round, bool skips) {
    auto* const here = reinterpret_cast<std::uint64_t*>(words_.memory().data());
    here[total_] = round;
    for (std::uint32_t rank = 0; rank < total_; ++rank) {
      const dsfabric::ThreadId to = self_.fabric().thread_of_rank(rank);
      (void)calls_.call(to, Letter{&mail_, mine_, rank, round + (skips ? 1 : 0)});
      (void)self_.transmitter(to.process)
          .write(words_.memory().local(total_ * sizeof(std::uint64_t), 8),
                 words_.at(to).part(mine_ * sizeof(std::uint64_t), 8), dtutils::kInlined);
    }
    self_.barrier();
    for (std::uint32_t rank = 0; rank < total_; ++rank) {
      const std::uint64_t found = dtutils::load_device_word(&here[rank]);
      if (found != round) expect(rank, found, round, "was written before the barrier");
    }
    self_.barrier();
  }

  /// Each member brings what tells it and the round apart.
  template <class Members>
  void gather(Members& members, std::uint64_t round, std::uint32_t size,
              const std::function<std::uint32_t(std::uint32_t)>& rank_of) {
    const auto all = members.all_gather(round << 32 | mine_);
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint64_t should = round << 32 | rank_of(i);
      if (all[i] != should) expect(i, all[i], should, "was gathered");
    }
  }

 private:
  void expect(std::uint32_t of, std::uint64_t found, std::uint64_t should, const char* what) {
    mail_.violated(fmt::format("worker {} finds {} of worker {}, where {} {}", mine_, found, of,
                               should, what));
  }

  dsfabric::Thread& self_;
  Mail& mail_;
  std::uint32_t total_;
  std::uint32_t mine_;
  dsfabric::SymmetricBuffer words_;
  dsfabric::SendChannel calls_;
};

}  // namespace

Outcome run_rounds(const Run& run) {
  const std::uint64_t seed = run.options.cluster.seed;
  simulation::Options options = run.options;
  options.config.threads = static_cast<std::uint32_t>(1 + seed % 2);
  options.config.queue_pairs = 2;
  // Less than a node has peers: connections are closed, and made again.
  if (seed % 3 == 0) options.config.max_connections = 2;
  Mail mail(run.nodes * options.config.threads);
  const auto program = [&](dsfabric::Fabric& fabric) {
    fabric.run([&](dsfabric::Thread& self) {
      Member member(self, mail);
      const std::uint32_t mine = fabric.rank_of(self.id());
      // Those of every second worker.
      std::vector<dsfabric::ThreadId> half;
      for (std::uint32_t rank = mine % 2; rank < fabric.total_threads(); rank += 2) {
        half.push_back(fabric.thread_of_rank(rank));
      }
      dsfabric::Group group(self, half);
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        member.meet(round, run.broken && mine == 1 && round == kRounds / 2);
        for (std::uint64_t again = 0; again < 3; ++again) {
          member.gather(self, 8 * round + again, fabric.total_threads(),
                        [](std::uint32_t rank) { return rank; });
          member.gather(group, 8 * round + again, group.size(),
                        [&](std::uint32_t rank) { return mine % 2 + 2 * rank; });
        }
      }
      dsfabric::wait_for_termination(self);
    });
  };
  return run_checked({run.nodes, options, run.failures, run.strikes, run.broken}, program, [&] {
    for (const std::uint64_t last : mail.last) {
      if (last != kRounds && !run.failures) {
        mail.violated(fmt::format("of {} messages the last one was {}", kRounds, last));
      }
    }
    return mail.violation;
  });
}

}  // namespace simulate
