// SPDX-License-Identifier: MIT
// Invariants of the workload locks.
#include "locks_course.hpp"

#include <fmt/format.h>

namespace simulate {
namespace {

dtutils::Simulation& simulated() { return *dtutils::Simulation::current(); }

}  // namespace

LockCourse::LockCourse(std::uint32_t nodes, std::uint32_t workers_of_a_node)
    : NodesCourse(nodes, workers_of_a_node),
      workers_(std::size_t{nodes} * workers_of_a_node),
      freed_(nodes),
      behind_(kLocks) {}

bool LockCourse::counts(std::uint32_t worker) const {
  const std::uint32_t home = home_of(workers_[worker].lock, nodes());
  return !has_crashed(node_of(worker)) && !freed_[home] && !believes_failed(home, node_of(worker));
}

void LockCourse::asks(std::uint32_t worker, std::uint32_t lock, bool exclusive) {
  workers_[worker] = {lock, exclusive, false, simulated().time(), std::nullopt};
}

void LockCourse::stands(std::uint32_t worker) { workers_[worker].stands = simulated().time(); }

void LockCourse::enters(std::uint32_t worker, bool owner_died) {
  // It may have been granted the lock before that, and nothing that it does arrives anywhere.
  if (!counts(worker)) return;
  check_holders(worker, owner_died);
  if (!disturbed()) check_order(worker);
  Worker& mine = workers_[worker];
  mine.stands.reset();
  mine.holds = true;
}

void LockCourse::check_holders(std::uint32_t worker, bool owner_died) {
  const Worker& mine = workers_[worker];
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    Worker& other = workers_[i];
    const bool both = i != worker && other.holds && other.lock == mine.lock;
    if (!both || (!other.exclusive && !mine.exclusive)) continue;
    if (!has_crashed(node_of(i)) && !believes_failed(node_of(worker), node_of(i))) {
      violated(fmt::format("workers {} and {} hold lock {}", i, worker, mine.lock));
    } else if (other.exclusive && !owner_died) {
      violated(fmt::format("worker {} failed with lock {}, and worker {} was not told", i,
                           mine.lock, worker));
    }
    if (mine.exclusive) other.holds = false;
  }
}

void LockCourse::check_order(std::uint32_t worker) {
  const Worker& mine = workers_[worker];
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    const Worker& other = workers_[i];
    if (i == worker || other.lock != mine.lock || !other.stands || *other.stands >= mine.asked ||
        (!other.exclusive && !mine.exclusive)) {
      continue;
    }
    violated(
        fmt::format("worker {} stood before worker {} in the queue of lock {}, and got it later", i,
                    worker, mine.lock));
  }
}

void LockCourse::reads(std::uint32_t worker, std::uint64_t value, std::uint64_t copy,
                       bool owner_died) {
  const Worker& mine = workers_[worker];
  if (!mine.holds || !counts(worker)) return;
  auto& [written, perhaps] = behind_[mine.lock];
  const auto known = [&](std::uint64_t word) {
    return word == written || std::ranges::find(perhaps, word) != perhaps.end();
  };
  // Of a write that was not flushed, half may be there.
  const bool whole = value == copy || !perhaps.empty();
  if (!owner_died && (!whole || !known(value) || !known(copy))) {
    violated(fmt::format("worker {} reads {} and {} behind lock {}, where {} was written", worker,
                         value, copy, mine.lock, written));
  }
  if (!mine.exclusive) return;
  written = value;
  perhaps.clear();
}

void LockCourse::will_write(std::uint32_t worker, std::uint64_t value) {
  behind_[workers_[worker].lock].perhaps.push_back(value);
}

void LockCourse::has_written(std::uint32_t worker, std::uint64_t value) {
  const Worker& mine = workers_[worker];
  if (mine.holds && counts(worker)) behind_[mine.lock] = {value, {}};
}

}  // namespace simulate
