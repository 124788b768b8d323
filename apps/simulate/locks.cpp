// SPDX-License-Identifier: MIT
// Workload locks: no two hold one lock, who came first gets it first, what the holder before has
// written is there, and locks of the dead go on.
#include "locks/locks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "dtutils/wait.hpp"
#include "locks_course.hpp"
#include "watcher.hpp"
#include "workloads.hpp"

namespace simulate {
namespace {

constexpr std::uint32_t kLockRounds = 12;
/// Bytes from one protected value to the next; the last one is the worker's own.
constexpr std::uint32_t kApart = 64;
/// Longest that a worker computes with a lock, and without one.
constexpr std::uint64_t kLongestWork = 3'000;
/// A run that takes longer hangs: all waits end, whoever fails.
constexpr std::chrono::seconds kLockLimit{60};
/// Of leases, where there are any.
constexpr std::chrono::milliseconds kLease{2};

/// What a lock protects.
struct Protected {
  std::uint64_t value;
  std::uint64_t copy;
};

/// One worker.
template <class M>
class Locker {
 public:
  Locker(dsfabric::Thread& self, const Run& run, LockCourse& course)
      : self_(self),
        fabric_(self.fabric()),
        run_(run),
        course_(course),
        node_(fabric_.process().value),
        me_(fabric_.rank_of(self.id())),
        values_(self, (kLocks + 1) * std::size_t{kApart}),
        space_(self, options()) {
    if (!run.strikes) return;
    if (one_in(6)) dies_at_ = 1 + simulated_.random() % 80;
    if (one_in(6)) stops_ = 2 + simulated_.random() % 30;
    if (one_in(24)) suspects_at_ = simulated_.random() % kLockRounds;
  }

  void work() {
    current_ = this;
    for (std::uint32_t round = 0; round < kLockRounds; ++round) {
      if (round == suspects_at_) suspect();
      const auto lock = static_cast<std::uint32_t>(simulated_.random() % kLocks);
      try {
        once(lock, simulated_.random() % 8, run_.broken && me_ == 0 && round == kLockRounds / 2);
      } catch (const dsfabric::PeerFailed& failure) {
        course_.gives_up(me_);
        // Without a way to itself it ends, and others are told.
        if (failure.process() != home(lock) || home(lock).value == node_) throw;
        if (!course_.disturbed() && !run_.failures) throw;
      } catch (const dtutils::Error& error) {
        course_.gives_up(me_);
        if (!course_.given_up(node_)) course_.violated(error.what());
      }
      ++course_.rounds[me_];
      simulated_.compute(std::chrono::nanoseconds(simulated_.random() % kLongestWork));
      self_.progress();
    }
    current_ = nullptr;
    // Others need this home.
    course_.finished[me_] = true;
    dtutils::Backoff backoff;
    while (course_.unfinished(fabric_)) {
      self_.progress();
      backoff.pause();
    }
  }

 private:
  bool one_in(std::uint64_t n) { return simulated_.random() % n == 0; }

  locks::LockSpaceOptions options() const {
    locks::LockSpaceOptions options;
    options.locks = kLocks;
    options.scheme = M::kScheme;
    // Those of a home that is gone are in use until all know it.
    options.places = kLockRounds;
    if (run_.strikes && M::kScheme == locks::Scheme::kDslr && run_.options.cluster.seed % 3 == 0) {
      options.lease = kLease;
    }
    options.at_point = [](locks::detail::Point reached) {
      if (current_ != nullptr) current_->reached(reached);
    };
    return options;
  }

  dsfabric::ProcessId home(std::uint32_t lock) const {
    return {static_cast<std::uint16_t>(home_of(lock, run_.nodes))};
  }

  /// Some die in the middle of a protocol, others stand still there.
  void reached(locks::detail::Point reached) {
    // Messages to a server come in any order.
    if (reached == locks::detail::Point::kPlaced && M::kScheme != locks::Scheme::kSrsl) {
      course_.stands(me_);
    }
    if (dies_at_ != 0 && --dies_at_ == 0 && course_.deaths + 2 < run_.nodes) {
      ++course_.deaths;
      simulated_.crash(node_);
      simulated_.compute(std::chrono::nanoseconds(1));
    } else if (stops_ != 0 && one_in(stops_)) {
      simulated_.stop(node_,
                      std::chrono::nanoseconds(std::uint64_t{1} << simulated_.random() % 20));
      simulated_.compute(std::chrono::nanoseconds(1));
    }
  }

  /// Takes another one for dead that is not.
  void suspect() {
    const std::uint64_t whom = simulated_.random() % run_.nodes;
    if (whom != node_) fabric_.fail({static_cast<std::uint16_t>(whom)}, "suspected in error");
  }

  void once(std::uint32_t lock, std::uint64_t way, bool without) {
    locks::SharedMutex<M> mutex(space_, locks::LockId{home(lock), lock});
    const bool exclusive = way < 5 || way == 7;
    course_.asks(me_, lock, exclusive || M::kScheme == locks::Scheme::kDqnl);
    if (without) {
      (void)write(lock, {0, 1});
      return course_.gives_up(me_);
    }
    if (way >= 6) {
      if (!(exclusive ? mutex.try_lock() : mutex.try_lock_shared())) {
        return course_.gives_up(me_);
      }
    } else {
      exclusive ? mutex.lock() : mutex.lock_shared();
    }
    const bool died = mutex.owner_died();
    course_.enters(me_, died);
    simulated_.compute(std::chrono::nanoseconds(simulated_.random() % kLongestWork));
    const bool posted = use(lock, exclusive, died);
    course_.leaves(me_);
    if (posted) {
      if constexpr (M::kScheme == locks::Scheme::kNcosed) (void)mutex.unlock_behind();
    } else {
      exclusive ? mutex.unlock() : mutex.unlock_shared();
    }
  }

  dtutils::Transmitter& way_home(std::uint32_t lock) { return self_.transmitter(home(lock)); }
  dtutils::RemoteMemoryLocator place_of(std::uint32_t lock) const {
    return values_.at({home(lock), 0}).part(lock * kApart, sizeof(Protected));
  }
  bool write(std::uint32_t lock, Protected what) {
    return way_home(lock).write({&what, sizeof what, 0}, place_of(lock), dtutils::kInlined);
  }

  bool is_lost(std::uint32_t lock) const {
    if (home(lock).value != node_) return false;
    throw dsfabric::PeerFailed(home(lock), "locking", "its connection to itself broke");
  }

  /// Looks at what the lock protects, and changes it. True: the change was only posted.
  bool use(std::uint32_t lock, bool exclusive, bool died) {
    const dtutils::LocalBuffer into =
        values_.memory().local(kLocks * kApart, static_cast<std::uint32_t>(sizeof(Protected)));
    if (!way_home(lock).blocking_read(into, place_of(lock))) return is_lost(lock);
    Protected now;
    std::memcpy(&now, values_.data() + kLocks * kApart, sizeof now);
    course_.reads(me_, now.value, now.copy, died);
    if (!exclusive) return false;
    ++now.value;
    now.copy = now.value;
    course_.will_write(me_, now.value);
    if (!write(lock, now)) return is_lost(lock);
    if (M::kScheme == locks::Scheme::kNcosed && one_in(2)) {
      course_.has_written(me_, now.value);
      return true;
    }
    if (!way_home(lock).flush()) return is_lost(lock);
    course_.has_written(me_, now.value);
    return false;
  }

  static thread_local Locker* current_;

  dsfabric::Thread& self_;
  dsfabric::Fabric& fabric_;
  const Run& run_;
  LockCourse& course_;
  dtutils::Simulation& simulated_ = *dtutils::Simulation::current();
  const std::uint32_t node_;
  const std::uint32_t me_;
  std::uint64_t dies_at_ = 0;
  std::uint64_t stops_ = 0;
  std::uint64_t suspects_at_ = kLockRounds;
  dsfabric::SymmetricBuffer values_;
  /// Before the values go, as they do early where a worker throws, also while it makes its space.
  const AtEnd values_end_{[this] { course_.frees(node_); }};
  locks::LockSpace space_;
};

template <class M>
thread_local Locker<M>* Locker<M>::current_ = nullptr;

template <class M>
Outcome run_with(const Run& run) {
  simulation::Options options = run.options;
  options.config.threads = static_cast<std::uint32_t>(1 + run.options.cluster.seed % 2);
  options.cluster.time_limit = kLockLimit;
  LockCourse course(run.nodes, options.config.threads);
  const auto program = [&](dsfabric::Fabric& fabric) {
    course.begins(fabric);
    const Watcher watcher(fabric, course.over);
    const AtEnd node_ends([&] { course.ends(fabric); });
    fabric.run([&](dsfabric::Thread& self) {
      const AtEnd worker_ends([&, me = fabric.rank_of(self.id())] { course.finished[me] = true; });
      Locker<M>(self, run, course).work();
    });
  };
  const bool failures = run.failures || run.strikes;
  return run_checked({run.nodes, options, failures, run.strikes, run.broken}, program,
                     [&] { return course.check(kLockRounds, failures); });
}

}  // namespace

Outcome run_locks(const Run& run) {
  switch (run.options.cluster.seed / 2 % 6) {
    case 0:
      return run_with<locks::Dqnl>(run);
    case 1:
      return run_with<locks::Dslr>(run);
    case 2:
      return run_with<locks::Srsl>(run);
    default:
      return run_with<locks::Ncosed>(run);
  }
}

}  // namespace simulate
