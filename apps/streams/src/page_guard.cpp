// SPDX-License-Identifier: MIT
// userfaultfd(2): protecting pages, and answering who writes into them.
#include "page_guard.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <exception>

#include "offer.hpp"
#include "streams/stream.hpp"

namespace streams {
namespace {

std::mutex shared_mutex;
std::weak_ptr<PageGuard> shared_guard;
pid_t shared_process = 0;

std::uint64_t number_of(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

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

/// Pages that were never touched cannot be protected.
void touch(const std::byte* begin, std::size_t length) noexcept {
  for (std::size_t at = 0; at < length; at += kGuardedPage) {
    static_cast<void>(*static_cast<const volatile std::byte*>(begin + at));
  }
}

/// By a system call, so that memory that is not there any more is an error and no signal.
bool copy_aside(std::byte* into, const std::byte* from, std::size_t length) noexcept {
  while (length != 0) {
    const iovec local{into, length};
    const iovec remote{const_cast<std::byte*>(from), length};
    const ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (copied <= 0) return false;
    into += copied;
    from += copied;
    length -= static_cast<std::size_t>(copied);
  }
  return true;
}

/// Ends the time in which the peer reads what lies in the memory of the program: it goes on in the
/// spare memory, or, if the bytes are lost, gives up.
void end_offer(GuardedOffer& offer, bool lost) noexcept {
  const std::atomic_ref word(*offer.word);
  bool copied = false;
  for (std::uint64_t raw = word.load();;) {
    const OfferWord now = OfferWord::from(raw);
    if (now.number != offer.number || now.taken >= offer.length ||
        (now.state != OfferState::kOffered && now.state != OfferState::kReading)) {
      return;
    }
    if (!lost && !copied) {
      lost =
          !copy_aside(offer.spare + now.taken, offer.begin + now.taken, offer.length - now.taken);
      copied = true;
    }
    const OfferWord next{now.number, lost ? OfferState::kLost : OfferState::kMoved, now.taken};
    if (word.compare_exchange_strong(raw, next.raw())) return;
  }
}

}  // namespace

std::shared_ptr<PageGuard> PageGuard::shared() noexcept try {
  static const int at_fork = pthread_atfork(
      [] { shared_mutex.lock(); }, [] { shared_mutex.unlock(); }, [] { shared_mutex.unlock(); });
  if (at_fork != 0) return nullptr;
  const std::scoped_lock lock(shared_mutex);
  std::shared_ptr<PageGuard> guard = shared_guard.lock();
  // What a child inherits is that of its parent.
  if (guard != nullptr && shared_process == getpid()) return guard;
  const int faults = open_faults();
  if (faults < 0) return nullptr;
  const int stop = eventfd(0, EFD_CLOEXEC);
  if (stop < 0) {
    close(faults);
    return nullptr;
  }
  guard.reset(new PageGuard(faults, stop));
  shared_guard = guard;
  shared_process = getpid();
  return guard;
} catch (const std::exception&) {
  return nullptr;
}

bool may_send_asynchronously() noexcept { return PageGuard::shared() != nullptr; }

PageGuard::PageGuard(int faults, int stop) : process_(getpid()), faults_(faults), stop_(stop) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { answer(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    close(stop_);
    close(faults_);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

PageGuard::~PageGuard() {
  if (process_ == getpid()) {
    eventfd_write(stop_, 1);
    thread_.join();
  } else {
    thread_.detach();  // A child has no such thread.
  }
  close(stop_);
  close(faults_);
}

bool PageGuard::enlisted(const GuardedOffer& offer) const noexcept {
  for (const GuardedOffer* each = offers_; each != nullptr; each = each->next) {
    if (each == &offer) return true;
  }
  return false;
}

bool PageGuard::protect(GuardedOffer& offer) noexcept {
  if (process_ != getpid()) return false;
  touch(offer.begin, offer.length);
  const std::scoped_lock lock(mutex_);
  for (const GuardedOffer* each = offers_; each != nullptr; each = each->next) {
    if (offer.begin < each->begin + each->length && each->begin < offer.begin + offer.length) {
      return false;
    }
  }
  uffdio_register pages{};
  pages.range = {number_of(offer.begin), offer.length};
  pages.mode = UFFDIO_REGISTER_MODE_WP;
  if (ioctl(faults_, UFFDIO_REGISTER, &pages) != 0) return false;
  uffdio_writeprotect protection{};
  protection.range = pages.range;
  protection.mode = UFFDIO_WRITEPROTECT_MODE_WP;
  if (ioctl(faults_, UFFDIO_WRITEPROTECT, &protection) != 0) {
    lift(number_of(offer.begin), offer.length);
    return false;
  }
  offer.next = offers_;
  offers_ = &offer;
  return true;
}

void PageGuard::release(GuardedOffer& offer) noexcept {
  if (process_ != getpid()) return;
  const std::scoped_lock lock(mutex_);
  if (enlisted(offer)) drop(offer);
}

void PageGuard::drop(GuardedOffer& offer) noexcept {
  GuardedOffer** at = &offers_;
  while (*at != &offer) at = &(*at)->next;
  *at = offer.next;
  lift(number_of(offer.begin), offer.length);
}

void PageGuard::lift(std::uint64_t begin, std::uint64_t length) noexcept {
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

void PageGuard::on_write(std::uint64_t address) noexcept {
  for (GuardedOffer* each = offers_; each != nullptr; each = each->next) {
    if (address - number_of(each->begin) < each->length) {
      end_offer(*each, false);
      return drop(*each);
    }
  }
  // It was lifted meanwhile.
  uffdio_range page{address / kGuardedPage * kGuardedPage, kGuardedPage};
  static_cast<void>(ioctl(faults_, UFFDIO_WAKE, &page));
}

void PageGuard::on_unmap(std::uint64_t begin, std::uint64_t end) noexcept {
  for (GuardedOffer* each = offers_; each != nullptr;) {
    GuardedOffer* const offer = each;
    each = each->next;
    const std::uint64_t from = number_of(offer->begin);
    if (from >= end || begin >= from + offer->length) continue;
    end_offer(*offer, true);
    drop(*offer);
  }
}

void PageGuard::answer(const uffd_msg& message) noexcept {
  const std::scoped_lock lock(mutex_);
  switch (message.event) {
    case UFFD_EVENT_PAGEFAULT:
      return on_write(message.arg.pagefault.address);
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

void PageGuard::answer() noexcept {
  for (;;) {
    std::array<pollfd, 2> entries{pollfd{faults_, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
    static_cast<void>(poll(entries.data(), entries.size(), -1));
    // Or the program has closed descriptors that are not its own.
    if (entries[1].revents != 0 || (entries[0].revents & POLLNVAL) != 0) return;
    uffd_msg message;
    while (read(faults_, &message, sizeof message) == sizeof message) answer(message);
  }
}

}  // namespace streams
