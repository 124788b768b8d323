// SPDX-License-Identifier: MIT
// Guests: an epoll instance of the listening socket and of those that came.
#include "guests.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dtutils/error.hpp"
#include "dtutils/poll_until.hpp"
#include "streams/limits.hpp"

namespace streams {
namespace {

constexpr char kAddressListener[] = "listener at an address";

bool watch(int events, int fd, void* whose) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = whose;
  return epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) == 0;
}

/// Throws Error when no further connection could be accepted either. Others are of one connection:
/// it was broken before it was taken (accept(2)).
void check_accept(int code) {
  const bool starved = code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM;
  if (!starved && code != EBADF && code != EINVAL && code != ENOTSOCK) return;
  throw dtutils::Error(kAddressListener, "no connection can be accepted",
                       starved ? "raise the limit of descriptors (ulimit -n), or free memory"
                               : "see what the system says; was the descriptor closed?",
                       code);
}

}  // namespace

Guests::Guests(int listener, const dtutils::SharedSecret& secret)
    : secret_(secret), listener_(listener, {}), events_(epoll_create1(EPOLL_CLOEXEC)) {
  if (events_ >= 0 && watch(events_, listener, nullptr)) return;
  const int code = errno;
  if (events_ >= 0) close(events_);
  throw dtutils::Error(kAddressListener, "there is no descriptor for its events",
                       "raise the limit of descriptors (ulimit -n)", code);
}

Guests::~Guests() { close(events_); }

int Guests::next(Clock::time_point end) {
  for (;;) {
    drop_late();
    const Clock::time_point until = guests_.empty() ? end : std::min(end, guests_.front().end);
    epoll_event event{};
    if (dtutils::poll_until(events_, POLLIN, until) > 0 && epoll_wait(events_, &event, 1, 0) == 1) {
      auto* const guest = static_cast<Guest*>(event.data.ptr);
      if (guest == nullptr) {
        take_in();
      } else if (const Progress progress = hear(*guest); progress != Progress::kMore) {
        const int socket = progress == Progress::kProved ? guest->socket.release() : -1;
        if (socket >= 0) (void)epoll_ctl(events_, EPOLL_CTL_DEL, socket, nullptr);
        guests_.remove_if([guest](const Guest& each) { return &each == guest; });
        if (socket >= 0) return socket;
      }
    }
    if (Clock::now() >= end) return -1;
  }
}

void Guests::take_in() {
  const Hello hello = make_hello();
  const int fd = accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return check_accept(errno);
  const int on = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (guests_.size() == kGuests) guests_.pop_front();
  Guest& guest = guests_.emplace_back(fd, Clock::now() + kIntroduction, hello.nonce);
  if (!watch(events_, fd, &guest) || !guest.socket.tell(hello)) guests_.pop_back();
}

void Guests::drop_late() noexcept {
  const Clock::time_point now = Clock::now();
  while (!guests_.empty() && guests_.front().end <= now) guests_.pop_front();
}

Guests::Progress Guests::hear(Guest& guest) noexcept {
  const ssize_t got =
      recv(guest.socket.fd(), guest.said.data() + guest.heard, guest.said.size() - guest.heard, 0);
  if (got < 0 && is_transient(errno)) return Progress::kMore;
  if (got <= 0) return Progress::kGone;
  guest.heard += static_cast<std::size_t>(got);
  if (guest.heard < guest.said.size()) return Progress::kMore;
  return believe(guest) ? Progress::kProved : Progress::kGone;
}

bool Guests::believe(Guest& guest) noexcept {
  Claim claim;
  std::memcpy(&claim, guest.said.data(), sizeof claim);
  const dtutils::Transcript transcript = transcript_of(claim.hello.nonce, guest.nonce);
  return valid(claim.hello) &&
         secret_.accepts(dtutils::HandshakeRole::kInitiator, transcript, claim.proof) &&
         guest.socket.tell(secret_.prove(dtutils::HandshakeRole::kResponder, transcript));
}

}  // namespace streams
