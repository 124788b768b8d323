// SPDX-License-Identifier: MIT
// Measuring the basic operations of a job for the cost model.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <span>
#include <vector>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/limits.hpp"
#include "dtutils/wait.hpp"
#include "figures.hpp"
#include "full_table.hpp"
#include "hashtable/cost.hpp"
#include "hashtable/detail/attempt.hpp"
#include "hashtable/detail/cache.hpp"
#include "hashtable/detail/ports.hpp"
#include "riutils/riutils.hpp"

namespace hashtable::cost {
namespace {

using dsfabric::Thread;

constexpr std::uint32_t kBatches = 5;
constexpr std::uint32_t kKeys = 256;
/// Requests to a service thread that sleeps, and how long nobody asks it before each.
constexpr std::size_t kWakes = 15;
constexpr std::chrono::microseconds kFallsAsleep{200};
/// Blocks of FullTable that are made one behind the other in a page of memory.
constexpr std::uint32_t kBlocksOfPage = dtutils::kPage / detail::shape_of(1, 1).block_bytes();
constexpr std::uint64_t kMostTableBytes = 16 << 20;
constexpr std::uint32_t kLine = 64;

/// A port on which a claim has nothing to do but its own work.
struct NoPort {
  bool swap(std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t claimed) const noexcept {
    asm volatile("" : : "r"(claimed));
    return true;
  }
  void write(std::uint32_t, std::uint32_t, const std::uint64_t* words, std::uint32_t,
             std::uint32_t) const noexcept {
    asm volatile("" : : "r"(words) : "memory");
  }
};

/// Places of `stride` bytes in a table; a power of two.
std::uint32_t places_of(std::uint64_t table_bytes, std::uint32_t stride) noexcept {
  const std::uint64_t places = std::min(table_bytes, kMostTableBytes) / stride;
  return static_cast<std::uint32_t>(std::bit_floor(std::max<std::uint64_t>(places, 1)));
}

/// One worker's way to measure: operations on memory of the next worker.
class Meter {
 public:
  Meter(Thread& self, const Subject& subject)
      : self_(self),
        to_(self.neighbour(+1)),
        block_bytes_(std::clamp(subject.block_bytes, 8u, 32u << 10)),
        entry_bytes_(std::clamp(subject.entry_bytes, 8u, 4096u)),
        stride_((std::max(block_bytes_, entry_bytes_ + kLine) + kLine - 1) / kLine * kLine),
        places_(places_of(subject.table_bytes, stride_)),
        rounds_(std::max(subject.rounds / kBatches, 1u)),
        kept_(std::max(subject.kept, 1u)),
        memory_(
            self.fabric().general_allocator(self.zone()).allocate(std::size_t{places_} * stride_)),
        here_(self.fabric().general_allocator(self.zone()).allocate(stride_)),
        transmitter_(self.transmitter(to_.process)),
        calls_(self),
        slot_(self.fabric()),
        home_(self, detail::shape_of(1, 1), {.bytes = 512 << 10, .buckets = kKeys / 4}, 0),
        full_(self, to_) {
    std::fill_n(memory_.data(), memory_.size(), std::byte{0});
    const auto all = self.all_gather(memory_.remote());
    there_ = all[self.fabric().rank_of(to_)];
    kept_entries_.resize(kept_);
    detail::LocalPort port(home_);
    for (std::uint64_t key = 0; key < kKeys; ++key) (void)look(port, key, Operation::kInsert);
  }

  Basics measure() {
    take_lines();
    const dtutils::LocalBuffer word = here_.local(0, 8);
    const dtutils::LocalBuffer block = here_.local(0, block_bytes_);
    const dtutils::RemoteMemoryLocator first = there_.part(0, stride_);
    Basics basics;
    basics.write = median([&] { write(first); });
    basics.read_word = median([&] { require(transmitter_.blocking_read(word, next(8))); });
    basics.read = median([&] { require(transmitter_.blocking_read(block, next(block_bytes_))); });
    basics.compare_and_swap =
        median([&] { require(transmitter_.blocking_compare_and_swap(first, 1, 2).has_value()); });
    basics.fetch_and_add =
        median([&] { require(transmitter_.blocking_fetch_and_add(first, 1).has_value()); });
    basics.lock = median([&] {
      require(transmitter_.blocking_compare_and_swap(first, 0, 1) &&
              transmitter_.blocking_compare_and_swap(first, 1, 0));
    });
    basics.claim = median([&, slot = 0u]() mutable {
      slot = (slot + 8) % kLine;  // slots begin at any word of a line
      const dtutils::RemoteMemoryLocator place = next(stride_).part(slot, entry_bytes_);
      require(transmitter_.blocking_compare_and_swap(place, 1, 2).has_value());
      write(place);
    });
    basics.alter = median([&] {
      const dtutils::RemoteMemoryLocator place = next(block_bytes_);
      require(transmitter_.blocking_read(block, place) &&
              transmitter_.blocking_compare_and_swap(place, 1, 2).has_value());
    });
    basics.call = median([&, number = std::uint64_t{0}]() mutable {
      const auto add = [number = ++number] { return number + 1; };
      (void)calls_.call_return(to_, add, slot_);
      (void)slot_.get();
    });
    basics.service = median([&] { ask_service(); });
    basics.block = block_made();  // the service thread is awake still
    basics.wake = wake();
    detail::LocalPort port(home_);
    basics.hit = median([&, draw = std::uint64_t{1}]() mutable {
      draw = draw * 6'364'136'223'846'793'005 + 1;  // an order that no processor can learn
      (void)look(port, (draw >> 32) % kKeys, Operation::kFind);
    });
    NoPort nowhere;
    basics.entry = median([&, key = std::uint64_t{0}]() mutable {
      const auto request = request_for(++key, Operation::kInsert);
      (void)detail::insert_blindly(nowhere, home_.bucket_of(request.hash), request);
    });
    basics.keep = median([&, number = std::uint64_t{0}]() mutable {
      const Request request = request_for(++number % kept_, Operation::kFind);
      kept_entries_.line(request.hash) = {{}, request.hash, request.key, request.value, 0, 0};
      asm volatile("" : : : "memory");
    });
    return basics;
  }

 private:
  using Clock = dtutils::Clock;
  using Request = detail::Request<1, 1>;

  void require(bool done) const {
    if (!done) {
      throw dsfabric::PeerFailed(to_.process, "measuring costs",
                                 self_.fabric().failure_reason(to_.process));
    }
  }
  /// The next place of the table, one after the other as hashes order them: far apart.
  dtutils::RemoteMemoryLocator next(std::uint32_t bytes) noexcept {
    place_ = (place_ + (places_ / 8 * 5 | 1)) & (places_ - 1);
    return there_.part(std::uint64_t{place_} * stride_, bytes);
  }
  /// Makes this worker the last one that wrote each line of the table, as it is the last one in a
  /// table that it changes; and brings what of it fits into its caches.
  void take_lines() {
    for (std::uint64_t at = 0; at < std::uint64_t{places_} * stride_; at += kLine) {
      require(transmitter_.blocking_fetch_and_add(there_.part(at, 8), 0).has_value());
    }
  }
  void write(const dtutils::RemoteMemoryLocator& place) {
    const bool inlined = entry_bytes_ <= transmitter_.queue_pair().max_inline();
    dtutils::Synchronizer done(1);
    require(transmitter_.write(
                here_.local(0, entry_bytes_), place.part(0, entry_bytes_),
                dtutils::PostOptions(done, inlined ? dtutils::kInlined : dtutils::kUnsignaled)) &&
            transmitter_.wait(done) == dtutils::Synchronizer::Outcome::kDone);
  }
  void ask_service() {
    dsfabric::SendChannel channel(self_.fabric());
    channel
        .call_return(dsfabric::ThreadId::service_of(to_.process),
                     [here = self_.id()] { return here; })
        .get();
  }
  /// As median(), of few rounds, each of which finds the service thread asleep.
  double wake() {
    std::array<double, kWakes> taken;
    for (double& each : taken) {
      dtutils::sleep_for(kFallsAsleep);
      const auto begin = Clock::now();
      ask_service();
      each = nanoseconds(Clock::now() - begin);
    }
    return middle(taken);
  }
  /// The median of those that a page holds: the first of them is the first to touch it.
  double block_made() {
    std::array<double, FullTable::kBuckets / 2 / kBlocksOfPage> taken{};
    for (double& each : taken) {
      for (std::uint32_t i = 0; i < kBlocksOfPage; ++i) {
        full_.take_lines();
        const auto begin = Clock::now();
        full_.make_block();
        each += nanoseconds(Clock::now() - begin) / kBlocksOfPage;
      }
    }
    return middle(taken);
  }
  static Request request_for(std::uint64_t key, Operation operation) noexcept {
    Request request{operation, 0, 0, {key}, {key}};
    request.hash = detail::hash_of(request.key.data(), 1);
    return request;
  }
  Status look(detail::LocalPort& port, std::uint64_t key, Operation operation) {
    Request request = request_for(key, operation);
    detail::Seen<1> seen;
    const Status status =
        detail::attempt(port, home_.bucket_of(request.hash), request, seen, false).status;
    // Used, so that the compiler keeps the work.
    asm volatile("" : : "m"(request.value), "r"(status) : "memory");
    return status;
  }
  static double nanoseconds(Clock::duration taken) noexcept {
    return std::chrono::duration<double, std::nano>(taken).count();
  }
  static double middle(std::span<double> figures) noexcept {
    const auto half = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
    std::nth_element(figures.begin(), half, figures.end());
    return *half;
  }
  template <class Work>
  double median(Work work) {
    std::array<double, kBatches> batches;
    for (std::uint32_t i = 0; i < rounds_ / 4; ++i) work();
    for (double& batch : batches) {
      const auto begin = Clock::now();
      for (std::uint32_t i = 0; i < rounds_; ++i) work();
      batch = nanoseconds(Clock::now() - begin) / rounds_;
    }
    return middle(batches);
  }

  Thread& self_;
  const dsfabric::ThreadId to_;
  const std::uint32_t block_bytes_;
  const std::uint32_t entry_bytes_;
  /// From one place of the table to the next one.
  const std::uint32_t stride_;
  /// A power of two.
  const std::uint32_t places_;
  const std::uint32_t rounds_;
  const std::uint32_t kept_;
  std::uint32_t place_ = 0;
  /// What the worker before this one works on.
  dtutils::RDMAMemory memory_;
  dtutils::RDMAMemory here_;
  dtutils::RemoteMemoryLocator there_{};
  dtutils::Transmitter& transmitter_;
  riutils::RDMAMessengerGlobal calls_;
  dsfabric::ReturnSlot<std::uint64_t> slot_;
  detail::Cache<1, 1> kept_entries_;
  detail::Home home_;
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
