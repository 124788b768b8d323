// SPDX-License-Identifier: MIT
// Measuring the basic operations of a job for the cost model.
#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "dsfabric/peer_failed.hpp"
#include "hashtable/cost.hpp"
#include "hashtable/detail/attempt.hpp"
#include "hashtable/detail/ports.hpp"
#include "riutils/riutils.hpp"

namespace hashtable::cost {
namespace {

using dsfabric::Thread;

constexpr std::uint32_t kBatches = 5;
constexpr std::uint32_t kTargetBytes = 64 << 10;
constexpr std::uint32_t kKeys = 256;

/// One worker's way to measure: operations on memory of the next worker.
class Meter {
 public:
  Meter(Thread& self, std::uint32_t block_bytes, std::uint32_t entry_bytes, std::uint32_t rounds)
      : self_(self),
        to_(self.neighbour(+1)),
        block_bytes_(std::min(block_bytes, kTargetBytes / 2)),
        entry_bytes_(std::min(entry_bytes, 4096u)),
        rounds_(std::max(rounds / kBatches, 1u)),
        memory_(self.fabric().general_allocator(self.zone()).allocate(kTargetBytes)),
        transmitter_(self.transmitter(to_.process)),
        calls_(self),
        slot_(self.fabric()),
        home_(self, detail::shape_of(1, 1), {.bytes = 512 << 10, .buckets = kKeys / 4}, 0) {
    std::fill_n(memory_.data(), memory_.size(), std::byte{0});
    const auto all = self.all_gather(memory_.remote());
    there_ = all[self.fabric().rank_of(to_)];
    detail::LocalPort port(home_);
    for (std::uint64_t key = 0; key < kKeys; ++key) (void)look(port, key, Operation::kInsert);
  }

  Basics measure() {
    const dtutils::LocalBuffer word = memory_.local(kTargetBytes / 2, 8);
    const dtutils::LocalBuffer block = memory_.local(kTargetBytes / 2, block_bytes_);
    const dtutils::LocalBuffer entry = memory_.local(kTargetBytes / 2, entry_bytes_);
    const unsigned inlined = entry_bytes_ <= transmitter_.queue_pair().max_inline()
                                 ? dtutils::kInlined
                                 : dtutils::kUnsignaled;
    Basics basics;
    basics.write = median([&] {
      dtutils::Synchronizer done(1);
      require(transmitter_.write(entry, there_, dtutils::PostOptions(done, inlined)) &&
              transmitter_.wait(done) == dtutils::Synchronizer::Outcome::kDone);
    });
    basics.read_word = median([&] { require(transmitter_.blocking_read(word, there_)); });
    basics.read = median([&] { require(transmitter_.blocking_read(block, there_)); });
    basics.compare_and_swap =
        median([&] { require(transmitter_.blocking_compare_and_swap(there_, 1, 2).has_value()); });
    basics.fetch_and_add =
        median([&] { require(transmitter_.blocking_fetch_and_add(there_, 1).has_value()); });
    basics.lock = median([&] {
      require(transmitter_.blocking_compare_and_swap(there_, 0, 1) &&
              transmitter_.blocking_compare_and_swap(there_, 1, 0));
    });
    basics.call = median([&, number = std::uint64_t{0}]() mutable {
      const auto add = [number = ++number] { return number + 1; };
      (void)calls_.call_return(to_, add, slot_);
      (void)slot_.get();
    });
    basics.service = median([&, number = std::uint64_t{0}]() mutable {
      dsfabric::SendChannel channel(self_.fabric());
      channel
          .call_return(dsfabric::ThreadId::service_of(to_.process),
                       [number = ++number] { return number + 1; })
          .get();
    });
    detail::LocalPort port(home_);
    basics.hit = median([&, key = std::uint64_t{0}]() mutable {
      (void)look(port, key = (key + 7) % kKeys, Operation::kFind);
    });
    return basics;
  }

 private:
  void require(bool done) const {
    if (!done) {
      throw dsfabric::PeerFailed(to_.process, "measuring costs",
                                 self_.fabric().failure_reason(to_.process));
    }
  }
  Status look(detail::LocalPort& port, std::uint64_t key, Operation operation) {
    detail::Request<1, 1> request{operation, 0, 0, {key}, {key}};
    request.hash = detail::hash_of(request.key.data(), 1);
    detail::Seen<1> seen;
    const Status status =
        detail::attempt(port, home_.bucket_of(request.hash), request, seen, false).status;
    // Used, so that the compiler keeps the work.
    asm volatile("" : : "m"(request.value), "r"(status) : "memory");
    return status;
  }
  template <class Work>
  double median(Work work) {
    using Clock = std::chrono::steady_clock;
    std::array<double, kBatches> batches;
    for (std::uint32_t i = 0; i < rounds_ / 4; ++i) work();
    for (double& batch : batches) {
      const auto begin = Clock::now();
      for (std::uint32_t i = 0; i < rounds_; ++i) work();
      batch = std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / rounds_;
    }
    std::nth_element(batches.begin(), batches.begin() + kBatches / 2, batches.end());
    return batches[kBatches / 2];
  }

  Thread& self_;
  const dsfabric::ThreadId to_;
  const std::uint32_t block_bytes_;
  const std::uint32_t entry_bytes_;
  const std::uint32_t rounds_;
  dtutils::RDMAMemory memory_;
  dtutils::RemoteMemoryLocator there_{};
  dtutils::Transmitter& transmitter_;
  riutils::RDMAMessengerGlobal calls_;
  dsfabric::ReturnSlot<std::uint64_t> slot_;
  detail::Home home_;
};

Basics mean(const std::vector<Basics>& all) {
  Basics sum;
  const auto add = [&](double Basics::*figure) {
    for (const Basics& each : all) sum.*figure += each.*figure / static_cast<double>(all.size());
  };
  for (const auto figure :
       {&Basics::write, &Basics::read_word, &Basics::read, &Basics::compare_and_swap,
        &Basics::fetch_and_add, &Basics::call, &Basics::service, &Basics::lock, &Basics::hit}) {
    add(figure);
  }
  return sum;
}

}  // namespace

Costs measure(Thread& self, std::uint32_t block_bytes, std::uint32_t entry_bytes,
              std::uint32_t rounds) {
  Meter meter(self, block_bytes, entry_bytes, rounds);
  self.barrier();
  Basics mine;
  const std::uint32_t rank = self.fabric().rank_of(self.id());
  for (std::uint32_t turn = 0; turn < self.fabric().total_threads(); ++turn) {
    if (turn == rank) mine = meter.measure();
    self.barrier();  // the others serve meanwhile
  }
  Costs costs;
  costs.alone = mean(self.all_gather(mine));
  self.barrier();
  costs.all = mean(self.all_gather(meter.measure()));
  self.barrier();
  return costs;
}

}  // namespace hashtable::cost
