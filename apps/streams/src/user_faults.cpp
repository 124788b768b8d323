// SPDX-License-Identifier: MIT
// userfaultfd(2): protecting pages, and answering who writes into them.
#include "user_faults.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <exception>
#include <mutex>
#include <thread>

namespace streams {
namespace {

std::mutex shared_mutex;
UserFaults* shared_guard = nullptr;

uffdio_range pages_of(const GuardedOffer& offer) {
  return {reinterpret_cast<std::uint64_t>(offer.begin), offer.length};
}

/// -1: not permitted, or not with all that is needed. It must also stop system calls that write, so
/// not with UFFD_USER_MODE_ONLY.
int open_faults() noexcept {
  int fd = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
#ifdef USERFAULTFD_IOC_NEW
  if (fd < 0) {
    const int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (device < 0) return -1;
    fd = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
    close(device);
  }
#endif
  if (fd < 0) return -1;
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_EVENT_UNMAP |
                 UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_REMAP;
  if (ioctl(fd, UFFDIO_API, &api) == 0) return fd;
  close(fd);
  return -1;
}

}  // namespace

PageGuard* UserFaults::shared() noexcept try {
  static const int at_fork = pthread_atfork(
      [] { shared_mutex.lock(); }, [] { shared_mutex.unlock(); }, [] { shared_mutex.unlock(); });
  if (at_fork != 0) return nullptr;
  const std::scoped_lock lock(shared_mutex);
  if (shared_guard != nullptr && shared_guard->in_this_process()) return shared_guard;
  const int faults = open_faults();
  if (faults < 0) return nullptr;
  // What a child inherits is that of its parent, whose streams know it, so it stays.
  if (shared_guard != nullptr) close(shared_guard->faults_);
  shared_guard = new UserFaults(faults);
  return shared_guard;
} catch (const std::exception&) {
  return nullptr;
}

bool UserFaults::permitted() noexcept {
  const int faults = open_faults();
  if (faults >= 0) close(faults);
  return faults >= 0;
}

UserFaults::UserFaults(int faults) : faults_(faults) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([this] { answer(); }).detach();
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    close(faults_);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool UserFaults::prepare(const GuardedOffer& offer) noexcept {
  // Pages that were never touched cannot be protected.
  for (std::size_t at = 0; at < offer.length; at += kGuardedPage) {
    static_cast<void>(*static_cast<const volatile std::byte*>(offer.begin + at));
  }
  return true;
}

bool UserFaults::cover(const GuardedOffer& offer) noexcept {
  uffdio_register pages{};
  pages.range = pages_of(offer);
  pages.mode = UFFDIO_REGISTER_MODE_WP;
  if (ioctl(faults_, UFFDIO_REGISTER, &pages) != 0) return false;
  uffdio_writeprotect protection{};
  protection.range = pages.range;
  protection.mode = UFFDIO_WRITEPROTECT_MODE_WP;
  if (ioctl(faults_, UFFDIO_WRITEPROTECT, &protection) == 0) return true;
  lift(pages.range.start, pages.range.len);
  return false;
}

void UserFaults::lift(std::uint64_t begin, std::uint64_t length) noexcept {
  uffdio_range range{begin, length};
  if (ioctl(faults_, UFFDIO_UNREGISTER, &range) != 0) {
    // Parts of it are something else by now.
    for (std::uint64_t at = begin; at != begin + length; at += kGuardedPage) {
      uffdio_range page{at, kGuardedPage};
      static_cast<void>(ioctl(faults_, UFFDIO_UNREGISTER, &page));
    }
  }
  // Unregistering wakes nobody who waits because of write protection.
  static_cast<void>(ioctl(faults_, UFFDIO_WAKE, &range));
}

void UserFaults::wake(std::uint64_t address) noexcept {
  uffdio_range page{address / kGuardedPage * kGuardedPage, kGuardedPage};
  static_cast<void>(ioctl(faults_, UFFDIO_WAKE, &page));
}

void UserFaults::answer(const uffd_msg& message) noexcept {
  const Hold hold(*this);
  switch (message.event) {
    case UFFD_EVENT_PAGEFAULT:
      if (!on_write(message.arg.pagefault.address)) wake(message.arg.pagefault.address);
      return;
    case UFFD_EVENT_REMOVE:
    case UFFD_EVENT_UNMAP:
      return on_unmap(message.arg.remove.start, message.arg.remove.end);
    case UFFD_EVENT_REMAP:
      on_unmap(message.arg.remap.from, message.arg.remap.from + message.arg.remap.len);
      return lift(message.arg.remap.to, message.arg.remap.len);
    default:
      return;
  }
}

void UserFaults::answer() noexcept {
  for (;;) {
    pollfd entry{faults_, POLLIN, 0};
    static_cast<void>(poll(&entry, 1, -1));
    // The program has closed descriptors that are not its own.
    if ((entry.revents & POLLNVAL) != 0) return;
    uffd_msg message;
    while (read(faults_, &message, sizeof message) == sizeof message) answer(message);
  }
}

}  // namespace streams
