// SPDX-License-Identifier: MIT
// SpaceCore: how workers and handlers find it, and its memory.
#include "space_core.hpp"

#include <fmt/format.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "dsfabric/own_connections.hpp"
#include "dtutils/error.hpp"
#include "dtutils/option_memory.hpp"
#include "dtutils/wait.hpp"
#include "keeper.hpp"

namespace locks::detail {
namespace {

constexpr std::uint32_t kMaxLocks = 1u << 28;

/// The spaces of a process, by number; and how many each worker has made.
struct Registry {
  std::mutex mutex;
  std::map<std::uint32_t, std::shared_ptr<SpaceCore>> spaces;
  std::map<std::uint16_t, std::uint32_t> made;
};

std::shared_ptr<Registry> registry_of(dsfabric::Fabric& fabric) {
  static const char key = 0;
  return std::static_pointer_cast<Registry>(
      fabric.attachment(&key, [](dsfabric::Fabric&) { return std::make_shared<Registry>(); }));
}

/// False where the kernel has no such barrier, or does not let this process use it.
bool register_barrier() noexcept {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool same(const LockSpaceOptions& one, const LockSpaceOptions& other) noexcept {
  return one.locks == other.locks && one.scheme == other.scheme && one.places == other.places &&
         one.lease == other.lease;
}

void check(dsfabric::Fabric& fabric, const LockSpaceOptions& options) {
  if (options.places == 0 || options.places > kMaxPlaces || options.locks > kMaxLocks) {
    throw dtutils::Error(
        "LockSpace", fmt::format("{} locks and {} places", options.locks, options.places),
        fmt::format("set LockSpaceOptions::locks to {} at most, and LockSpaceOptions::places to "
                    "1 to {}",
                    kMaxLocks, kMaxPlaces));
  }
  if (options.lease.count() < 0) {
    throw dtutils::Error("LockSpace", fmt::format("a lease of {} ns", options.lease.count()),
                         "give a positive time, or 0 for none");
  }
  if (fabric.total_threads() > kMaxWorkers) {
    throw dtutils::Error("LockSpace", "the job has too many workers", "use fewer than a million");
  }
  for (std::uint16_t i = 0; i < fabric.founders(); ++i) {
    if (fabric.info({i}).service_threads == 0) {
      throw dtutils::Error("LockSpace", fmt::format("process {} has no service thread", i),
                           "set service_threads to 1 or more: homes repair locks by service calls");
    }
  }
}

}  // namespace

std::shared_ptr<SpaceCore> SpaceCore::enter(dsfabric::Thread& self,
                                            const LockSpaceOptions& options) {
  dsfabric::Fabric& fabric = self.fabric();
  check(fabric, options);
  const std::shared_ptr<Registry> registry = registry_of(fabric);
  const std::scoped_lock lock(registry->mutex);
  const std::uint32_t number = registry->made[self.id().index]++;
  std::shared_ptr<SpaceCore>& core = registry->spaces[number];
  if (!core) {
    // By which workers of one process grant locks to each other.
    dsfabric::watch_own_connections(fabric);
    core = std::make_shared<SpaceCore>(fabric, number, options);
    core->upcall_ = fabric.on_failure(
        [weak = std::weak_ptr(core)](dsfabric::ProcessId failed, const std::string&) {
          if (const std::shared_ptr<SpaceCore> alive = weak.lock()) alive->on_failure(failed);
        });
  }
  if (!same(core->options_, options)) {
    throw dtutils::Error("LockSpace", "another worker of this process chose other options",
                         "let all workers make the same spaces in the same order");
  }
  ++core->users_;
  return core;
}

void SpaceCore::leave() {
  const std::shared_ptr<Registry> registry = registry_of(fabric_);
  {
    const std::scoped_lock lock(registry->mutex);
    if (--users_ != 0) return;
  }
  dtutils::Deadline deadline(fabric_.config().leave_timeout);
  dtutils::Backoff backoff;
  // Others may hear of a failure by this home alone, as when it has given them up in error. One
  // that does not answer has been asked, and learns of it when it goes on.
  while (!told_of_failures(deadline)) backoff.pause();
  {
    const std::scoped_lock lock(mutex_);
    left_ = true;
  }
  // Ends a repair that waits for an answer. A home that reads the places of this process goes on to
  // the end first.
  keeper_->stop();
  server_.close();
  fabric_.remove_upcall(upcall_);
  std::shared_ptr<SpaceCore> last;
  const std::scoped_lock lock(registry->mutex);
  last = std::move(registry->spaces[number_]);
  registry->spaces.erase(number_);
}

bool SpaceCore::told_of_failures(dtutils::Deadline& deadline) {
  // Then nobody is asked.
  if (fabric_.failed(here())) return true;
  for (std::uint16_t i = 0; i < fabric_.founders(); ++i) {
    if (fabric_.failed({i}) && !cut_off({i})) return false;
  }
  return keeper_->idle() || (deadline.passed() && keeper_->has_told());
}

std::shared_ptr<SpaceCore> SpaceCore::find(dsfabric::Fabric& fabric, std::uint32_t number) {
  const std::shared_ptr<Registry> registry = registry_of(fabric);
  const std::scoped_lock lock(registry->mutex);
  const auto found = registry->spaces.find(number);
  return found == registry->spaces.end() ? nullptr : found->second;
}

SpaceCore::SpaceCore(dsfabric::Fabric& fabric, std::uint32_t number,
                     const LockSpaceOptions& options)
    : fabric_(fabric),
      number_(number),
      options_(options),
      expedited_(register_barrier()),
      stepping_(fabric.info(fabric.process()).threads),
      words_by_process_(fabric.founders()),
      freezes_(fabric.founders()),
      cut_off_(fabric.founders()),
      settled_(fabric.founders()),
      server_(fabric, number),
      keeper_(std::make_unique<Keeper>(*this)) {
  dtutils::GeneralAllocator& allocator = fabric.general_allocator();
  words_ = dtutils::allocate_for_option(allocator,
                                        std::max<std::size_t>(options.locks, 1) * sizeof(LockWords),
                                        "LockSpace", "LockSpaceOptions::locks");
  std::memset(words_.data(), 0, words_.size());
  // The allocator gives cache lines.
  place_memory_ =
      dtutils::allocate_for_option(allocator, stepping_.size() * options.places * sizeof(Place),
                                   "LockSpace", "LockSpaceOptions::places");
  std::memset(place_memory_.data(), 0, place_memory_.size());
}

SpaceCore::~SpaceCore() = default;

Place* SpaceCore::places_of(std::uint32_t worker) const noexcept {
  return reinterpret_cast<Place*>(place_memory_.data()) + std::size_t{worker} * options_.places;
}

SpaceCore::Hello SpaceCore::hello_of(std::uint32_t worker) const noexcept {
  const std::size_t each = std::size_t{options_.places} * sizeof(Place);
  Hello hello{words_.remote(), place_memory_.remote().part(worker * each, each),
              options_.locks,  options_.places,
              options_.scheme, options_.lease};
  hello.words.process = here().value;
  hello.places.process = here().value;
  return hello;
}

void SpaceCore::meet(const std::vector<Hello>& all) {
  std::call_once(met_, [&] {
    for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
      const Hello& hello = all[rank];
      if (hello.locks != options_.locks || hello.places_each != options_.places ||
          hello.scheme != options_.scheme || hello.lease != options_.lease) {
        throw dtutils::Error(
            "LockSpace", fmt::format("worker {} chose other options", fabric_.thread_of_rank(rank)),
            "let all workers make the same spaces in the same order");
      }
      words_by_process_[hello.words.process] = hello.words;
    }
    for (const Hello& hello : all) places_.push_back(hello.places);
    keeper_->start();
  });
}

std::vector<std::span<LockWords>> SpaceCore::all_words() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::span<LockWords>> all = adopted_;
  all.emplace_back(reinterpret_cast<LockWords*>(words_.data()), options_.locks);
  return all;
}

void SpaceCore::adopt(std::span<LockWords> words) {
  const std::scoped_lock lock(mutex_);
  adopted_.push_back(words);
}

void SpaceCore::on_failure(dsfabric::ProcessId process) {
  // Newcomers to an elastic job have no locks.
  if (process.value >= cut_off_.size()) return;
  // When this process has failed itself, its locks are gone, and nobody is asked about them.
  if (process != here()) keeper_->wake();
  cut_off_[process.value].store(true, std::memory_order_release);
  thaw(process, kAllRepairs);
}

}  // namespace locks::detail
