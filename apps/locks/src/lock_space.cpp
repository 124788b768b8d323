// SPDX-License-Identifier: MIT
// LockSpace and SharedMutex: set-up, and the Errors of mistakes.
#include "locks/lock_space.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "dtutils/error.hpp"
#include "keeper.hpp"
#include "locks/shared_mutex.hpp"
#include "space_core.hpp"

namespace locks {

LockSpace::LockSpace(dsfabric::Thread& self, const LockSpaceOptions& options)
    : core_(detail::SpaceCore::enter(self, options)) {
  try {
    core_->meet(self.all_gather(core_->hello_of(self.id().index)));
    worker_ = std::make_unique<detail::Worker>(self, *core_);
    // Nobody locks before all know all places.
    self.barrier();
  } catch (...) {
    core_->leave();
    throw;
  }
}

LockSpace::~LockSpace() { core_->leave(); }

dsfabric::Thread& LockSpace::self() const noexcept { return worker_->self(); }

const LockSpaceOptions& LockSpace::options() const noexcept { return core_->options(); }

LockAddress LockSpace::address(LockId lock) const {
  if (lock.home.value >= core_->fabric().founders() || lock.index >= core_->options().locks) {
    throw dtutils::Error(fmt::format("lock {} of process {}", lock.index, lock.home.value),
                         fmt::format("the space has {} locks at each of {} processes",
                                     core_->options().locks, core_->fabric().founders()),
                         "raise LockSpaceOptions::locks, or name a lock that exists");
  }
  return {core_->words_of(lock.home).part(lock.index * sizeof(LockWords), sizeof(LockWords))};
}

void LockSpace::adopt(std::span<LockWords> words) {
  if (words.empty()) return;
  const auto address = reinterpret_cast<std::uintptr_t>(words.data());
  if (options().scheme == Scheme::kSrsl || address == 0 || address % sizeof(LockWords) != 0) {
    throw dtutils::Error("LockSpace::adopt",
                         options().scheme == Scheme::kSrsl
                             ? "locks of Srsl have no words"
                             : fmt::format("no words of locks lie at {:#x}", address),
                         "give registered memory at a multiple of 16, and use another scheme than "
                         "Srsl");
  }
  core_->adopt(words);
}

std::uint64_t LockSpace::repairs() const noexcept { return core_->keeper().repairs(); }

LockCounters LockSpace::counters() const noexcept { return worker_->counters(); }

namespace detail {

void refuse_lock(bool exclusive, bool held_exclusively) {
  if (!held_exclusively && exclusive) {
    throw dtutils::Error("SharedMutex", "it is held shared and cannot be upgraded",
                         "unlock it first, and look again at what it protects after lock()");
  }
  throw dtutils::Error("SharedMutex", "this object holds the lock already",
                       "unlock it first: the lock is not recursive");
}

void refuse_unlock(bool exclusive, bool held) {
  throw dtutils::Error(
      "SharedMutex",
      !held ? "it is not held" : (exclusive ? "it is held shared" : "it is held exclusively"),
      "call unlock() after lock(), and unlock_shared() after lock_shared(), once each");
}

void require_lock(const LockSpace& space, Scheme scheme, const LockAddress& lock) {
  if (space.options().scheme != scheme) {
    throw dtutils::Error("SharedMutex", "the space has locks of another scheme",
                         "give LockSpaceOptions::scheme the kScheme of the template argument");
  }
  const dtutils::RemoteMemoryLocator& memory = lock.memory;
  if (memory.length != sizeof(LockWords) || memory.address == 0 ||
      memory.address % sizeof(LockWords) != 0 ||
      memory.process >= space.self().fabric().founders()) {
    throw dtutils::Error(
        "SharedMutex",
        fmt::format("{} bytes at {:#x} of process {} are no words of a lock", memory.length,
                    memory.address, memory.process),
        "give 16 bytes at a multiple of 16 in a process that has the space: LockSpace::address");
  }
}

}  // namespace detail
}  // namespace locks
