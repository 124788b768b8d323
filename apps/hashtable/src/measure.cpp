// SPDX-License-Identifier: MIT
// Measuring the basic operations of a job for the cost model.
#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <span>
#include <vector>

#include "dtutils/clock.hpp"
#include "dtutils/limits.hpp"
#include "dtutils/wait.hpp"
#include "figures.hpp"
#include "full_table.hpp"
#include "hashtable/cost.hpp"
#include "hashtable/detail/attempt.hpp"
#include "hashtable/detail/cache.hpp"
#include "hashtable/detail/ports.hpp"
#include "places.hpp"
#include "riutils/riutils.hpp"
#include "sample.hpp"

namespace hashtable::cost {
namespace {

using dsfabric::Thread;

constexpr std::uint32_t kBatches = 5;
/// Buckets whose first slots, or whose slots at all, keys to look for have.
constexpr std::uint32_t kBuckets = 64;
constexpr std::uint32_t kFullBuckets = 32;
/// Requests to a service thread that sleeps, and how long nobody asks it before each.
constexpr std::size_t kWakes = 15;
constexpr std::chrono::microseconds kFallsAsleep{40};
/// Blocks of FullTable that are made one behind the other in a page of memory.
constexpr std::uint32_t kBlocksOfPage = dtutils::kPage / detail::shape_of(1, 1).block_bytes();

/// One worker's way to measure: operations on memory of the next worker.
class Meter {
 public:
  Meter(Thread& self, const Subject& subject)
      : self_(self),
        to_(self.neighbour(+1)),
        rounds_(std::max(subject.rounds / kBatches, 1u)),
        kept_(std::max(subject.kept, 1u)),
        places_(self, to_, subject),
        calls_(self),
        slot_(self.fabric()),
        some_(self, kBuckets, Filling::kSome),
        crowded_(self, kFullBuckets, Filling::kAll),
        full_(self, to_) {
    keep_entries();
  }

  Basics measure() {
    places_.take_lines();
    places_.first();
    Basics basics;
    basics.write = median([&] { places_.write(0); });
    basics.compare_and_swap = median([&] { places_.swap(0, 1, 2); });
    basics.fetch_and_add = median([&] { places_.add(0); });
    basics.lock = median([&] {
      places_.swap(0, 0, 1);
      places_.swap(0, 1, 0);
    });
    basics.read_word = median([&] {
      places_.next(0);
      places_.read_word();
    });
    basics.read = median([&] {
      places_.next(0);
      places_.read();
    });
    basics.look = median([&] { (void)find(some_); });
    basics.crowded = median([&] { (void)find(crowded_); });
    basics.change = median([&] { (void)there(some_.known(draw()), Operation::kRemove, false); });
    basics.claim = median([&] { (void)there(some_.unknown(draw()), Operation::kInsert, false); });
    basics.taken = median([&] { (void)there(some_.unknown(draw()), Operation::kInsert, true); });
    basics.kept = median([&] { find_kept(); });
    basics.missed = median([&] { find_and_keep(); });
    basics.call = median(
        [&, number = std::uint64_t{0}]() mutable {
          const auto add = [number = ++number] { return number + 1; };
          (void)calls_.call_return(to_, add, slot_);
          (void)slot_.get();
        },
        calls_of_batch());
    basics.service = median([&] { ask_service(); }, calls_of_batch());
    // The service thread is awake still. The first block of a page is the first to touch it.
    basics.block = inserted<kBlocksOfPage>(std::chrono::nanoseconds(0));
    basics.wake = ask_after<kWakes>(kFallsAsleep);
    basics.block_asleep = inserted<1>(kFallsAsleep);
    basics.awake = stays_awake(basics);
    basics.hit = median([&] { (void)some_.here(some_.known(draw()), Operation::kFind); });
    return basics;
  }

 private:
  using Clock = dtutils::Clock;

  /// Draws a number that no processor can learn to foresee.
  std::uint64_t draw() noexcept {
    drawn_ = drawn_ * 6'364'136'223'846'793'005 + 1;
    return drawn_ >> 32;
  }

  /// A find by one-sided operations, as a table does it.
  Status find(Sample& sample) {
    Request request = request_for(sample.known(draw()), Operation::kFind);
    PlacePort port(places_, sample.home(), request.hash, false);
    const detail::BucketWord bucket = sample.home().bucket_of(request.hash);
    const std::uint64_t* const block = port.read(bucket.index());
    detail::Seen<1> seen;
    Status status = Status::kDone;
    if (!detail::first_has_value<1, 1>(block, bucket, request.hash, request.key, request.value)) {
      detail::examine<1, 1>(block, bucket, request.hash, request.key, seen);
      status = detail::attempt(port, bucket, request, seen, true).status;
    }
    return used(request, status);
  }
  /// Another operation; `taken`: an insert claims in vain, and looks then.
  Status there(std::uint64_t key, Operation operation, bool taken) {
    Request request = request_for(key, operation);
    PlacePort port(places_, some_.home(), request.hash, taken);
    const detail::BucketWord bucket = some_.home().bucket_of(request.hash);
    if (operation == Operation::kInsert && detail::insert_blindly(port, bucket, request)) {
      return Status::kDone;
    }
    detail::Seen<1> seen;
    return used(request, detail::attempt(port, bucket, request, seen, false).status);
  }

  /// Fills kept_entries_ as finds do, and kept_keys_ with those that are in it.
  void keep_entries() {
    kept_entries_.resize(kept_);
    for (std::uint64_t key = 0; key < kept_; ++key) {
      const Request request = request_for(key, Operation::kFind);
      kept_entries_.line(request.hash) = {{1}, request.hash, request.key, request.value, 0, 0};
    }
    for (std::uint64_t key = 0; key < kept_; ++key) {
      if (kept_entries_.line(detail::hash_of(&key, 1)).key[0] == key) kept_keys_.push_back(key);
    }
    std::shuffle(kept_keys_.begin(), kept_keys_.end(), std::minstd_rand());
  }
  void find_kept() {
    next_kept_ = (next_kept_ + 1) % kept_keys_.size();
    Request request = request_for(kept_keys_[next_kept_], Operation::kFind);
    const auto& line = kept_entries_.line(request.hash);
    places_.next(line.block);
    if (line.hash == request.hash && line.key == request.key) places_.read_word();
    request.value = line.value;
    (void)used(request, Status::kDone);
  }
  void find_and_keep() {
    const std::uint64_t drawn = draw();
    auto& line = kept_entries_.line(drawn << 20);
    if (line.key[0] == ~drawn) return;  // no line has such a key
    (void)find(some_);
    // All of a line but what find_kept() looks for.
    line.word = {drawn + 1};
    line.value[0] = drawn;
    line.block = line.at = static_cast<std::uint32_t>(drawn);
  }

  void ask_service() {
    dsfabric::SendChannel channel(self_.fabric());
    channel
        .call_return(dsfabric::ThreadId::service_of(to_.process),
                     [here = self_.id()] { return here; })
        .get();
  }
  /// What it takes to ask a service thread whom nobody has asked for so long: as median(), of few
  /// rounds.
  template <std::size_t kAsked>
  double ask_after(std::chrono::nanoseconds pause) {
    std::array<double, kAsked> taken;
    ask_service();
    for (double& each : taken) {
      stay_awake(pause);
      const auto begin = Clock::now();
      ask_service();
      each = nanoseconds(Clock::now() - begin);
    }
    return middle(taken);
  }
  /// How long it stays awake: by bisection, since who is woken takes much longer.
  double stays_awake(const Basics& basics) {
    constexpr int kSteps = 5;
    std::chrono::nanoseconds awake{0};
    std::chrono::nanoseconds asleep = kFallsAsleep;
    for (int step = 0; step < kSteps; ++step) {
      const auto between = (awake + asleep) / 2;
      (ask_after<kBatches>(between) > (basics.service + basics.wake) / 2 ? asleep : awake) =
          between;
    }
    return nanoseconds((awake + asleep) / 2);
  }
  /// Inserts into full buckets, nobody asking the service thread for so long before each: the
  /// median of the means of so many.
  template <std::uint32_t kTogether>
  double inserted(std::chrono::nanoseconds pause) {
    std::array<double, FullTable::kBuckets / 4 / kTogether> taken{};
    for (double& each : taken) {
      for (std::uint32_t i = 0; i < kTogether; ++i) {
        each += full_.insert_ns(pause) / kTogether;
      }
    }
    return middle(taken);
  }
  static double nanoseconds(Clock::duration taken) noexcept {
    return std::chrono::duration<double, std::nano>(taken).count();
  }
  static double middle(std::span<double> figures) noexcept {
    const auto half = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
    std::nth_element(figures.begin(), half, figures.end());
    return *half;
  }
  /// Fewer: calls wait for other threads, and those for a core where others compute.
  std::uint32_t calls_of_batch() const noexcept { return std::max(rounds_ / 50, 1u); }
  template <class Work>
  double median(Work work) {
    return median(work, rounds_);
  }
  template <class Work>
  double median(Work work, std::uint32_t rounds) {
    std::array<double, kBatches> batches;
    for (std::uint32_t i = 0; i < rounds / 4; ++i) work();
    for (double& batch : batches) {
      const auto begin = Clock::now();
      for (std::uint32_t i = 0; i < rounds; ++i) work();
      batch = nanoseconds(Clock::now() - begin) / rounds;
    }
    return middle(batches);
  }

  Thread& self_;
  const dsfabric::ThreadId to_;
  const std::uint32_t rounds_;
  const std::uint32_t kept_;
  Places places_;
  riutils::RDMAMessengerGlobal calls_;
  dsfabric::ReturnSlot<std::uint64_t> slot_;
  detail::Cache<1, 1> kept_entries_;
  std::vector<std::uint64_t> kept_keys_;
  std::size_t next_kept_ = 0;
  std::uint64_t drawn_ = 1;
  Sample some_;
  Sample crowded_;
  FullTable full_;
};

Basics mean(const std::vector<Basics>& all) {
  Basics sum;
  for (const Figure& figure : kFigures) {
    for (const Basics& each : all) {
      sum.*figure.value += each.*figure.value / static_cast<double>(all.size());
    }
  }
  return sum;
}

}  // namespace

Costs measure(Thread& self, const Subject& subject) {
  Meter meter(self, subject);
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
