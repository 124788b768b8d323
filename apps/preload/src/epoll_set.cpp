// SPDX-License-Identifier: MIT
// Registrations, and waiting for what they ask for.
#include "epoll_set.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "connection.hpp"
#include "descriptor_table.hpp"
#include "kernel_socket.hpp"
#include "real.hpp"

namespace preload {
namespace {

using std::chrono::steady_clock;

/// What the kernel gives back with an event: the descriptor, and which of its sources it is.
constexpr std::uint64_t kStreamSource = std::uint64_t{1} << 32;
constexpr std::uint64_t kKickSource = std::uint64_t{1} << 33;
/// Waits in which a hot connection has nothing before it is left to the kernel.
constexpr std::uint32_t kMissesBeforeCold = 64;
constexpr int kEventsPerQuestion = 256;

epoll_event tagged(std::uint32_t events, std::uint64_t tag) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return event;
}

std::uint64_t tag_of(int fd) noexcept { return static_cast<std::uint32_t>(fd); }

/// Level-triggered bits of poll(2) are those of epoll(7).
constexpr std::uint32_t kAlways = EPOLLERR | EPOLLHUP;
constexpr std::uint32_t kAllOfTcp = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET;
constexpr short kTcpLevels = POLLIN | POLLOUT | POLLPRI | POLLRDHUP;

int milliseconds_left(End end) noexcept {
  if (!end) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT32_MAX));
}

}  // namespace

/// The events that are given to the program.
class EpollSet::Report {
 public:
  Report(epoll_event* events, int most) noexcept : events_(events), most_(most) {}
  bool full() const noexcept { return count_ == most_; }
  int count() const noexcept { return count_; }
  int room() const noexcept { return most_ - count_; }
  void add(std::uint32_t events, const epoll_data_t& data) noexcept {
    events_[count_].events = events;
    events_[count_].data = data;
    ++count_;
  }

 private:
  epoll_event* events_;
  int most_;
  int count_ = 0;
};

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
  Registration* const known = found == registrations_.end() ? nullptr : &found->second;
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
  if (registration.parked != (operation == EPOLL_CTL_ADD)) {
    return registration.parked ? ENOENT : EEXIST;
  }
  registration.parked = operation == EPOLL_CTL_DEL;
  if (registration.parked) return 0;
  if (event == nullptr) return EFAULT;
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
  const auto connection = table().lock<Connection>(fd);
  if (!connection) return;
  if (kick_ < 0) {
    kick_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_event kick = tagged(EPOLLIN, kKickSource);
    if (kick_ >= 0) real().epoll_ctl(set, EPOLL_CTL_ADD, kick_, &kick);
  }
  // Without it a sleeper would not learn of a stream.
  if (kick_ < 0) connection->pin();
  added.connection = connection.entry;
  connection->registrations.push_back(&added);
  if (connection->stream() != nullptr) carry(set, added);
}

/// With the connection's mutex.
void EpollSet::carry(int set, Registration& registration) {
  epoll_event all = tagged(kAllOfTcp, tag_of(registration.fd));
  real().epoll_ctl(set, EPOLL_CTL_MOD, registration.fd, &all);
  epoll_event of_stream = tagged(EPOLLIN | EPOLLET, tag_of(registration.fd) | kStreamSource);
  real().epoll_ctl(set, EPOLL_CTL_ADD, registration.connection->stream()->descriptor(), &of_stream);
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
      }
    }
  }
  if (registration.hot) std::erase(hot_, &registration);
  if (registration.carried) --carried_;
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
  carried_ = 0;
  if (kick_ >= 0) real().close(kick_);
  kick_ = -1;
  const std::scoped_lock lock(requests_mutex_);
  requests_.clear();
  requested_ = false;
}

void EpollSet::leave_to_parent() noexcept {
  new (&requests_mutex_) Mutex;
  sleepers_ = 0;
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
    if (found == registrations_.end() || found->second.connection == nullptr) continue;
    Registration& registration = found->second;
    std::unique_lock lock(registration.connection->mutex);
    if (registration.gone) {
      lock.unlock();
      remove(set, registration);
    } else if (registration.carried) {
      heat(registration);
    } else if (registration.connection->stream() != nullptr) {
      carry(set, registration);
    }
  }
}

void EpollSet::look(Report& report) {
  const std::size_t count = hot_.size();
  for (std::size_t i = 0; i < count && !report.full(); ++i) {
    look_at(*hot_[(turn_ + i) % count], report);
  }
}

void EpollSet::look_at(Registration& registration, Report& report) {
  if (registration.disabled || registration.parked) return;
  Connection& connection = *registration.connection;
  const std::scoped_lock lock(connection.mutex);
  if (registration.gone) return;
  short events;
  if (registration.tcp_said || (connection.tcp_events() & (POLLIN | POLLOUT)) != 0) {
    const short now = levels(registration.fd, kTcpLevels);
    registration.tcp_said = (now & ~POLLOUT) != 0;
    events = connection.merge(now);
  } else {
    events = connection.stream_events();
  }
  const std::uint32_t reported =
      static_cast<std::uint16_t>(events) & (registration.wanted.events | kAlways);
  if (reported == 0) return;
  if ((registration.wanted.events & EPOLLET) != 0) {
    const Registration::Edge edge{connection.arrived(), connection.blocked(),
                                  registration.tcp_edges, reported};
    if (edge == registration.reported) return;
    registration.reported = edge;
  }
  registration.misses = 0;
  registration.disabled = (registration.wanted.events & EPOLLONESHOT) != 0;
  report.add(reported, registration.wanted.data);
}

int EpollSet::ask(int set, Report& report, int milliseconds, const sigset_t* mask,
                  std::unique_lock<Mutex>& lock) {
  if (report.full()) return 0;
  std::array<epoll_event, kEventsPerQuestion> events;
  const int room = std::min(report.room(), kEventsPerQuestion);
  int count;
  if (milliseconds == 0) {
    count = real().epoll_pwait(set, events.data(), room, 0, mask);
  } else {
    ++sleepers_;
    lock.unlock();
    {
      const SleepWithSignals signals(mask);
      if (requested_.load()) milliseconds = 0;
      count = real().epoll_pwait(set, events.data(), room, milliseconds, signals.mask());
      --sleepers_;
    }
    lock.lock();
  }
  if (count < 0) return errno;
  for (int i = 0; i < count; ++i) take_event(events[static_cast<std::size_t>(i)], report);
  return 0;
}

void EpollSet::take_event(const epoll_event& event, Report& report) {
  if (event.data.u64 == kKickSource) {
    std::uint64_t count;
    static_cast<void>(real().read(kick_, &count, sizeof count));
    return;
  }
  const auto found = registrations_.find(static_cast<int>(event.data.u64 & ~kStreamSource));
  if (found == registrations_.end()) return;
  Registration& registration = found->second;
  if (!registration.carried) {
    if ((event.data.u64 & kStreamSource) == 0) {
      report.add(event.events, registration.wanted.data);
    }
    return;
  }
  if ((event.data.u64 & kStreamSource) == 0) {
    registration.tcp_said = true;
    ++registration.tcp_edges;
  } else {
    const std::scoped_lock lock(registration.connection->mutex);
    if (!registration.gone) registration.connection->disarm();
  }
  heat(registration);
}

bool EpollSet::spin(int set, Report& report, std::unique_lock<Mutex>& lock) {
  return patience_.spin([&](std::uint32_t looks) {
    look(report);
    if (looks % kLooksPerQuestion == kLooksPerQuestion - 1) ask(set, report, 0, nullptr, lock);
    return report.count() != 0;
  });
}

void EpollSet::arm(Registration& registration) noexcept {
  const std::scoped_lock lock(registration.connection->mutex);
  if (!registration.gone) registration.connection->arm(kick_);
}

void EpollSet::cool_idle(Report& report) {
  for (std::size_t i = hot_.size(); i-- > 0 && !report.full();) {
    Registration& registration = *hot_[i];
    if (++registration.misses <= kMissesBeforeCold) continue;
    arm(registration);
    look_at(registration, report);
    if (registration.misses == 0) continue;
    registration.hot = false;
    hot_.erase(hot_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void EpollSet::leave_to_sleepers() {
  if (hot_.empty() || sleepers_.load() == 0) return;
  for (Registration* const each : hot_) arm(*each);
  wake(-1);
}

bool EpollSet::cool(Report& report) {
  for (Registration* const each : hot_) arm(*each);
  look(report);
  if (report.count() != 0) return false;
  for (Registration* const each : hot_) each->hot = false;
  hot_.clear();
  return true;
}

int EpollSet::wait(int set, epoll_event* events, int most, End end, const sigset_t* mask) {
  Report report(events, most);
  std::unique_lock lock(mutex);
  int code = 0;
  for (bool last = false; !last && code == 0 && report.count() == 0;) {
    last = over(end);
    answer_requests(set);
    ++turn_;
    look(report);
    if (report.count() != 0 || last) {
      code = ask(set, report, 0, mask, lock);
      cool_idle(report);
    } else if (hot_.empty() || (!spin(set, report, lock) && cool(report))) {
      code = ask(set, report, milliseconds_left(end), mask, lock);
    }
  }
  leave_to_sleepers();
  if (report.count() != 0 || code == 0) return report.count();
  errno = code;
  return -1;
}

}  // namespace preload
