// SPDX-License-Identifier: MIT
// Registrations: what the program asks for, and what the kernel is asked for in its place.
#include "epoll_set.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "connection.hpp"
#include "descriptor_table.hpp"
#include "epoll_tags.hpp"
#include "kernel_socket.hpp"
#include "real.hpp"
#include "uring.hpp"

namespace preload {
namespace {

/// What epoll_ctl(2) allows with it.
constexpr std::uint32_t kWithExclusive =
    EPOLLEXCLUSIVE | EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLWAKEUP | EPOLLET;
constexpr std::uint32_t kAllOfTcp = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET;

}  // namespace

void ask_to_look(Registration& registration, int except) noexcept {
  EpollSet& set = *registration.set;
  {
    const std::scoped_lock lock(set.requests_mutex_);
    set.requests_.push_back(registration.fd);
  }
  // seq_cst, and the load of `sleepers_` in `wake`: pairs with a waiter that counts itself a
  // sleeper and then looks for requests.
  set.requested_.store(true);
  set.wake(except);
}

bool has_others(const Registration& registration, int wake) noexcept {
  const EpollSet& set = *registration.set;
  return set.kick_ != wake || set.sleepers_.load() != 0;
}

void EpollSet::wake(int except) noexcept {
  if (sleepers_.load() == 0 || kick_ < 0 || kick_ == except) return;
  const std::uint64_t one = 1;
  static_cast<void>(real().write(kick_, &one, sizeof one));
}

int EpollSet::control(int set, int operation, int fd, epoll_event* event) {
  const auto found = registrations_.find(fd);
  Registration* known = found == registrations_.end() ? nullptr : &found->second;
  if (known != nullptr && known->connection != nullptr && table().find(fd) != known->connection) {
    // Copies of the descriptor keep the connection, and the kernel its events.
    if (real().fcntl(fd, F_GETFD) < 0) return EBADF;
    // The number is another one's now.
    remove(set, *known);
    known = nullptr;
  }
  if (known != nullptr && known->carried && !known->gone) {
    return control_carried(*known, operation, event);
  }
  epoll_event kernel{};
  if (event != nullptr) kernel = tagged(event->events, tag_of(fd));
  const int done = real().epoll_ctl(set, operation, fd, event == nullptr ? nullptr : &kernel);
  const int code = done == 0 ? 0 : errno;
  if (operation == EPOLL_CTL_DEL) {
    if (known != nullptr) remove(set, *known);
  } else if (code == 0 && operation == EPOLL_CTL_MOD) {
    if (known != nullptr) known->wanted = *event;
  } else if (code == 0) {
    // What stood there was of a descriptor that is closed.
    if (known != nullptr) remove(set, *known);
    add(set, fd, *event);
  }
  return code;
}

int EpollSet::control_carried(Registration& registration, int operation, const epoll_event* event) {
  if (operation != EPOLL_CTL_ADD && operation != EPOLL_CTL_MOD && operation != EPOLL_CTL_DEL) {
    return EINVAL;
  }
  if (registration.parked != (operation == EPOLL_CTL_ADD)) {
    return registration.parked ? ENOENT : EEXIST;
  }
  if (operation == EPOLL_CTL_DEL) {
    registration.parked = true;
    return 0;
  }
  if (event == nullptr) return EFAULT;
  const bool exclusive = (event->events & EPOLLEXCLUSIVE) != 0;
  if (operation == EPOLL_CTL_MOD) {
    if (exclusive || (registration.wanted.events & EPOLLEXCLUSIVE) != 0) return EINVAL;
  } else if (exclusive && (event->events & ~kWithExclusive) != 0) {
    return EINVAL;
  }
  registration.parked = false;
  registration.wanted = *event;
  registration.disabled = false;
  registration.reported = {};
  heat(registration);
  wake(-1);
  return 0;
}

void EpollSet::add(int set, int fd, const epoll_event& event) {
  Registration& added = registrations_[fd];
  added.set = this;
  added.fd = fd;
  added.wanted = event;
  if (const Entry* const entry = table().find(fd);
      entry != nullptr && entry->kind() == Kind::kEpollSet) {
    inner_.push_back(fd);
    make_kick(set);
    wake(-1);
    return;
  }
  // A socket that is not connected may be later, while somebody sleeps.
  if (kick_ < 0 && is_tcp(fd)) make_kick(set);
  link(set, added);
}

void EpollSet::link(int set, Registration& registration) {
  if (has_uring()) return;
  const auto connection = table().lock<Connection>(registration.fd);
  if (!connection) return;
  make_kick(set);
  // Without it a sleeper would not learn of a stream.
  if (kick_ < 0) connection->pin();
  registration.connection = connection.entry;
  connection->registrations.push_back(&registration);
  if (connection->is_carried()) carry(set, registration);
}

/// False: there is no such registration, but one of a descriptor that was closed.
bool EpollSet::link_late(int set, Registration& registration) {
  // Changes nothing when it is there.
  epoll_event nothing = tagged(0, tag_of(registration.fd));
  if (real().epoll_ctl(set, EPOLL_CTL_ADD, registration.fd, &nothing) == 0) {
    real().epoll_ctl(set, EPOLL_CTL_DEL, registration.fd, nullptr);
    remove(set, registration);
    return false;
  }
  link(set, registration);
  return registration.connection != nullptr;
}

void EpollSet::expect_connection(int fd) noexcept {
  const std::scoped_lock lock(mutex);
  const auto found = registrations_.find(fd);
  if (found != registrations_.end() && found->second.connection == nullptr) {
    ask_to_look(found->second, -1);
  }
}

void EpollSet::make_kick(int set) noexcept {
  if (kick_ >= 0) return;
  kick_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event kick = tagged(EPOLLIN, kKickSource);
  if (kick_ >= 0) real().epoll_ctl(set, EPOLL_CTL_ADD, kick_, &kick);
}

/// Nothing when a copy of the descriptor is registered, too: one event is for all of them.
void EpollSet::watch_stream(int set, const Registration& registration) noexcept {
  if (registration.connection->stream() == nullptr) return;
  epoll_event of_stream = tagged(EPOLLIN | EPOLLET, tag_of(registration.fd) | kStreamSource);
  real().epoll_ctl(set, EPOLL_CTL_ADD, registration.connection->stream()->descriptor(), &of_stream);
}

/// With the connection's mutex.
void EpollSet::carry(int set, Registration& registration) {
  epoll_event all = tagged(kAllOfTcp, tag_of(registration.fd));
  // One that is exclusive cannot be changed.
  if (real().epoll_ctl(set, EPOLL_CTL_MOD, registration.fd, &all) != 0) {
    real().epoll_ctl(set, EPOLL_CTL_DEL, registration.fd, nullptr);
    real().epoll_ctl(set, EPOLL_CTL_ADD, registration.fd, &all);
  }
  watch_stream(set, registration);
  registration.carried = true;
  registration.tcp_said = true;
  ++carried_;
  heat(registration);
}

void EpollSet::remove(int set, Registration& registration) noexcept {
  if (Connection* const connection = registration.connection; connection != nullptr) {
    const std::scoped_lock lock(connection->mutex);
    if (!registration.gone) {
      std::erase(connection->registrations, &registration);
      if (registration.carried && connection->stream() != nullptr) {
        real().epoll_ctl(set, EPOLL_CTL_DEL, connection->stream()->descriptor(), nullptr);
        for (const Registration* const each : connection->registrations) {
          if (each->set == this && each->carried) watch_stream(set, *each);
        }
      }
    }
  }
  if (registration.hot) std::erase(hot_, &registration);
  if (registration.carried) --carried_;
  std::erase(inner_, registration.fd);
  registrations_.erase(registration.fd);
}

void EpollSet::end() noexcept {
  for (auto& [fd, registration] : registrations_) {
    if (registration.connection == nullptr) continue;
    const std::scoped_lock lock(registration.connection->mutex);
    if (!registration.gone) std::erase(registration.connection->registrations, &registration);
  }
  registrations_.clear();
  hot_.clear();
  inner_.clear();
  carried_ = 0;
  keeps_tags_ = false;
  if (kick_ >= 0) real().close(kick_);
  kick_ = -1;
  const std::scoped_lock lock(requests_mutex_);
  requests_.clear();
  requested_ = false;
}

void EpollSet::forget_connections() noexcept {
  const std::scoped_lock lock(mutex);
  for (auto& [fd, registration] : registrations_) {
    if (registration.connection == nullptr) continue;
    const std::scoped_lock connection(registration.connection->mutex);
    if (!registration.gone) std::erase(registration.connection->registrations, &registration);
    registration.connection = nullptr;
  }
}

bool EpollSet::leave_to_kernel(int set) noexcept {
  // Whether the kernel would report one that reports once is not known here.
  constexpr std::uint32_t kFixed = EPOLLONESHOT | EPOLLEXCLUSIVE;
  if (keeps_tags_ || waiting_ != 0 || sleepers_.load() != 0 || carried_ != 0 || descriptors != 1) {
    return false;
  }
  const auto give = [&](bool tags) {
    return std::all_of(registrations_.begin(), registrations_.end(), [&](auto& each) {
      epoll_event event = each.second.wanted;
      if ((event.events & kFixed) != 0) return false;
      if (tags) event.data.u64 = tag_of(each.first);
      return real().epoll_ctl(set, EPOLL_CTL_MOD, each.first, &event) == 0;
    });
  };
  if (!inner_.empty() || !give(false)) {
    // One of a descriptor that was closed may live by a copy of it.
    give(true);
    keeps_tags_ = true;
    return false;
  }
  if (kick_ >= 0) real().epoll_ctl(set, EPOLL_CTL_DEL, kick_, nullptr);
  end();
  table().enter(set, nullptr);
  descriptors = 0;
  return true;
}

void EpollSet::leave_to_parent() noexcept {
  new (&requests_mutex_) Mutex;
  sleepers_ = 0;
  waiting_ = 0;
}

void EpollSet::heat(Registration& registration) {
  registration.misses = 0;
  if (registration.hot) return;
  registration.hot = true;
  hot_.push_back(&registration);
}

void EpollSet::answer_requests(int set) {
  if (!requested_.load(std::memory_order_relaxed) || !requested_.exchange(false)) return;
  std::vector<int> requests;
  {
    const std::scoped_lock lock(requests_mutex_);
    requests.swap(requests_);
  }
  for (const int fd : requests) {
    const auto found = registrations_.find(fd);
    if (found == registrations_.end()) continue;
    Registration& registration = found->second;
    if (registration.connection == nullptr && !link_late(set, registration)) continue;
    std::unique_lock lock(registration.connection->mutex);
    if (registration.gone) {
      lock.unlock();
      remove(set, registration);
    } else if (registration.carried) {
      heat(registration);
    } else if (registration.connection->is_carried()) {
      carry(set, registration);
    }
  }
}

}  // namespace preload
