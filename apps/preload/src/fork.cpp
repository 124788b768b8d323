// SPDX-License-Identifier: MIT
// Handlers around fork(2): streams stay with the parent, TCP connections are of both.
#include "fork.hpp"

#include <pthread.h>

#include <mutex>
#include <new>
#include <utility>

#include "connection.hpp"
#include "descriptor_table.hpp"
#include "descriptors.hpp"
#include "epoll_set.hpp"
#include "owner.hpp"
#include "pool.hpp"
#include "process.hpp"
#include "upgrade.hpp"

namespace preload {
namespace {

/// Between the handlers before a fork and those after it: this thread forks.
thread_local bool is_forking = false;

/// The handlers are registered more than once, and each but the first of a fork does nothing.
void before_fork() noexcept {
  if (is_forking) return;
  bool streams = false;
  for_each_entry([&streams](int fd, const Entry&) {
    const auto connection = table().lock<Connection>(fd);
    if (connection && connection->share()) streams = true;
  });
  if (streams) prepare_owner();
  // After all connections: who asks for a stream holds one.
  lock_upgrades_for_fork();
  pool<Connection>().mutex().lock();
  pool<Listening>().mutex().lock();
  pool<EpollSet>().mutex().lock();
  is_forking = true;
}

void unlock_pools() noexcept {
  pool<EpollSet>().mutex().unlock();
  pool<Listening>().mutex().unlock();
  pool<Connection>().mutex().unlock();
}

void after_fork_in_parent() noexcept {
  if (!std::exchange(is_forking, false)) return;
  unlock_pools();
  unlock_upgrades_in_parent();
}

void after_fork_in_child() noexcept {
  if (!std::exchange(is_forking, false)) return;
  count_fork();
  const Owner parent = leave_owner();
  unlock_pools();
  for_each_entry([&parent](int, Entry& entry) {
    // Another thread of the parent may have held it.
    new (&entry.mutex) Mutex;
    if (entry.kind() == Entry::Kind::kConnection) {
      static_cast<Connection&>(entry).leave_to_parent(parent);
    } else if (entry.kind() == Entry::Kind::kEpollSet) {
      static_cast<EpollSet&>(entry).leave_to_parent();
    }
  });
  forget_upgrades_in_child();
}

}  // namespace

void take_part_in_forks() noexcept {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void begin_unseen_fork() noexcept { before_fork(); }
void end_unseen_fork(bool in_child) noexcept {
  in_child ? after_fork_in_child() : after_fork_in_parent();
}

}  // namespace preload
