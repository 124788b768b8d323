// SPDX-License-Identifier: MIT
// Makes entries, counts their descriptors, and ends their use.
#include "descriptors.hpp"

#include <ctime>
#include <memory>
#include <mutex>
#include <new>

#include "asynchronous.hpp"
#include "connection.hpp"
#include "descriptor_table.hpp"
#include "epoll_set.hpp"
#include "pool.hpp"
#include "process.hpp"
#include "real.hpp"
#include "signals.hpp"

namespace preload {
namespace {

/// How long a process that closes a connection which others have, too, waits for its peer to leave
/// the stream. The others go on as well when it does later, unless it sends at that moment.
constexpr int kStepsOfGivingUp = 20;
constexpr timespec kStepOfGivingUp{0, 1'000'000};

/// Takes an entry, lets `begin` fill it, and enters it. The socket stays a plain one without
/// memory.
template <class T, class Begin>
void enter_new(int fd, Begin begin) noexcept try {
  const HoldSignals hold;
  leave(fd);
  T& entry = pool<T>().take();
  std::unique_lock lock(entry.mutex);
  begin(entry);
  entry.descriptors = 1;
  if (table().enter(fd, &entry)) return;
  entry.descriptors = 0;
  lock.unlock();
  pool<T>().give(entry);
} catch (const std::bad_alloc&) {
}

/// The stream is destroyed, which tells the peer, before the caller closes the TCP connection.
void end(Connection& connection, int fd, std::unique_lock<Mutex>& lock) {
  for (int i = 0; i < kStepsOfGivingUp && !connection.give_up(fd); ++i) {
    nanosleep(&kStepOfGivingUp, nullptr);
  }
  const std::unique_ptr<streams::Stream> stream = connection.end(fd);
  lock.unlock();
  if (stream != nullptr) settle_before_close(*stream, fd);
  pool<Connection>().give(connection);
}

void end(Listening& listening, int, std::unique_lock<Mutex>& lock) {
  if (listening.presence >= 0) real().close(listening.presence);
  listening.presence = -1;
  lock.unlock();
  pool<Listening>().give(listening);
}

void end(EpollSet& set, int, std::unique_lock<Mutex>& lock) {
  set.end();
  lock.unlock();
  pool<EpollSet>().give(set);
}

template <class T>
void leave_as(int fd) noexcept {
  auto entry = table().lock<T>(fd);
  if (!entry) return;
  table().enter(fd, nullptr);
  if (--entry->descriptors == 0) end(*entry, fd, entry.lock);
}

}  // namespace

void enter_connection(int fd, bool connected_here, bool other_host) noexcept {
  enter_new<Connection>(fd, [&](Connection& entry) { entry.begin(connected_here, other_host); });
  // Programs may register a socket before they connect it.
  if (connected_here) {
    const HoldSignals hold;
    pool<EpollSet>().for_each([fd](EpollSet& set) { set.expect_connection(fd); });
  }
}

void enter_listening(int fd, int presence) noexcept {
  enter_new<Listening>(fd, [&](Listening& entry) { entry.presence = presence; });
}

void enter_epoll_set(int fd) noexcept {
  enter_new<EpollSet>(fd, [](EpollSet&) {});
}

void enter_copy(int fd, int copy) noexcept {
  leave(copy);
  Entry* const entry = table().find(fd);
  if (entry == nullptr || !is_this_process()) return;
  const std::scoped_lock lock(entry->mutex);
  if (table().find(fd) != entry || !table().enter(copy, entry)) return;
  ++entry->descriptors;
}

void leave(int fd) noexcept {
  const Entry* const entry = table().find(fd);
  if (entry == nullptr || !is_this_process()) return;
  const HoldSignals hold;
  switch (entry->kind()) {
    case Entry::Kind::kConnection:
      leave_as<Connection>(fd);
      break;
    case Entry::Kind::kListening:
      leave_as<Listening>(fd);
      break;
    case Entry::Kind::kEpollSet:
      leave_as<EpollSet>(fd);
      break;
  }
}

void leave_all_to_kernel() noexcept {
  const HoldSignals hold;
  pool<EpollSet>().for_each([](EpollSet& set) { set.forget_connections(); });
  for_each_entry([](int fd, const Entry& entry) {
    if (entry.kind() == Entry::Kind::kEpollSet) return;
    if (const auto connection = table().lock<Connection>(fd)) connection->leave_to_kernel();
    leave(fd);
  });
}

}  // namespace preload
