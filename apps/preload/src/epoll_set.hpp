// SPDX-License-Identifier: MIT
// An epoll instance of the program, in which connections may be registered.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "descriptor_table.hpp"
#include "entry.hpp"
#include "patience.hpp"
#include "poll.hpp"
#include "signals.hpp"

namespace preload {

class Connection;
class EpollSet;

/// What the program asked for about one descriptor. Guarded by the set's mutex.
struct Registration {
  EpollSet* set;
  int fd;
  epoll_event wanted;
  /// nullptr: something else than a connection, which the kernel alone looks at.
  Connection* connection = nullptr;
  /// Guarded by the connection's mutex: its last descriptor was closed.
  bool gone = false;
  /// The kernel's registration was changed: it tells of all events of TCP, and of the stream's.
  bool carried = false;
  /// In the list of those that are looked at.
  bool hot = false;
  /// EPOLLONESHOT has reported once.
  bool disabled = false;
  /// The program has taken it out. The kernel keeps it, since many programs put it in again.
  bool parked = false;
  /// TCP said something; `levels` tells whether it still holds.
  bool tcp_said = false;
  std::uint32_t misses = 0;
  /// What the last report was about: an edge is a difference to it.
  struct Edge {
    std::uint64_t arrived = 0;
    std::uint64_t blocked = 0;
    std::uint64_t tcp = 0;
    std::uint32_t events = 0;
    bool operator==(const Edge&) const = default;
  } reported;
  std::uint64_t tcp_edges = 0;
};

/// Tells the set that the registration's connection has changed; nothing if the set's own
/// descriptor for that is `except`. With the connection's mutex. Any thread.
void ask_to_look(Registration& registration, int except) noexcept;
/// Whether others than the thread whose own descriptor for that is `wake` may sleep there. With
/// the connection's mutex. Any thread.
bool has_others(const Registration& registration, int wake) noexcept;

/// The program's descriptors are registered in the kernel's instance under their numbers, so that
/// each event is looked up in the table here. Connections with a stream are *hot* while something
/// comes in: they are looked at, without the kernel. Those at which nothing is seen, and all
/// before a thread sleeps, are armed: the kernel then tells when they change.
///
/// Locks in this order: a set, sets that are registered in it, a connection.
class EpollSet : public Entry {
 public:
  static constexpr Kind kKind = Kind::kEpollSet;

  EpollSet() noexcept : Entry(kKind) {}

  // With `mutex` held.
  /// As epoll_ctl(2); 0 or an errno value.
  int control(int set, int operation, int fd, epoll_event* event);
  /// A connection has begun at `fd`, which may be registered already. Without `mutex`.
  void expect_connection(int fd) noexcept;
  /// Forgets all when the last descriptor is closed.
  void end() noexcept;
  /// The kernel alone looks at connections. Without `mutex`.
  void forget_connections() noexcept;
  /// In a forked child, whose connections with streams are the parent's.
  void leave_to_parent() noexcept;

  /// In a process that has an io_uring: the kernel has it alone from now on. False: not now, or
  /// never.
  bool leave_to_kernel(int set) noexcept;

  /// As epoll_pwait(2), without `mutex`.
  int wait(int set, epoll_event* events, int most, End end, const sigset_t* mask);

  /// Wakes those who sleep in `wait`. Any thread, wait-free.
  void wake(int except) noexcept;

  // Around a question to the kernel about the set's own descriptor, which is in a poll or in
  // another set. Any thread, without `mutex`.
  /// Lets the kernel tell of what streams have and will have.
  void show(int set) noexcept;
  /// The same, and until `leave` of what other threads do, too.
  void enter(int set) noexcept;
  void leave() noexcept { --sleepers_; }
  /// What poll(2) says of it after `show`.
  short shown(int set, short events) noexcept;

 private:
  friend void ask_to_look(Registration&, int) noexcept;
  friend bool has_others(const Registration&, int) noexcept;
  class Report;

  int control_carried(Registration& registration, int operation, const epoll_event* event);
  void add(int set, int fd, const epoll_event& event);
  void link(int set, Registration& registration);
  bool link_late(int set, Registration& registration);
  void remove(int set, Registration& registration) noexcept;
  void make_kick(int set) noexcept;
  void watch_stream(int set, const Registration& registration) noexcept;
  void carry(int set, Registration& registration);
  /// Calls `call(inner, fd)` for each set that is registered in this one.
  template <class Call>
  void for_each_inner(Call call) {
    for (const int fd : inner_) {
      Entry* const entry = table().find(fd);
      if (entry != nullptr && entry->kind() == kKind) call(static_cast<EpollSet&>(*entry), fd);
    }
  }
  void heat(Registration& registration);
  void answer_requests(int set);
  /// Reports what hot connections have.
  void look(Report& report);
  void look_at(Registration& registration, Report& report);
  /// What the program would be told now; without events: nothing, or with EPOLLET nothing new.
  Registration::Edge news(Registration& registration);
  bool has_news();
  void take_noise(int set, std::unique_lock<Mutex>& lock);
  /// Takes what the kernel has. 0, or an errno value.
  int ask(int set, Report& report, int milliseconds, const sigset_t* mask,
          std::unique_lock<Mutex>& lock);
  bool is_noise(const Registration& registration);
  void take_event(const epoll_event& event, Report& report);
  /// Looks until something comes, or as long as it pays.
  bool spin(int set, Report& report, std::unique_lock<Mutex>& lock);
  void arm(Registration& registration) noexcept;
  /// Leaves those to the kernel at which nothing was seen for long.
  void cool_idle(Report& report);
  /// Before this thread goes: others that sleep are told of what comes from now on.
  void leave_to_sleepers();
  /// Lets the kernel tell of all hot connections; only those stay hot of which it cannot tell all.
  /// False when something came meanwhile.
  bool cool(Report& report);

  std::unordered_map<int, Registration> registrations_;
  std::vector<Registration*> hot_;
  /// Descriptors of other sets that are registered in this one.
  std::vector<int> inner_;
  /// Where the next look begins, so that none is always the last.
  std::size_t turn_ = 0;
  std::size_t carried_ = 0;
  /// Threads in `wait`, which may have events of the kernel that they look up here.
  int waiting_ = 0;
  /// It stays as it is also in a process that has an io_uring.
  bool keeps_tags_ = false;
  /// An eventfd in the kernel's instance, made with the first connection or inner set.
  int kick_ = -1;
  std::atomic<int> sleepers_{0};
  /// Descriptors of connections that have changed; a lock after all others.
  Mutex requests_mutex_;
  std::vector<int> requests_;
  std::atomic<bool> requested_{false};
  Patience patience_;
};

}  // namespace preload
