// SPDX-License-Identifier: MIT
// Set-up of the objects of the device, and how a thread waits for them.
#include "link.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "dtutils/error.hpp"
#include "meeting.hpp"

namespace streams {
namespace {

dtutils::QueuePairOptions pair_options(const Link::Sizes& sizes) {
  dtutils::QueuePairOptions options;
  options.send_depth = kRequests;
  options.receive_depth = sizes.receives;
  options.scatter_gather = 1;
  options.max_inline = sizes.inline_bytes;
  options.exclusive = true;
  return options;
}

int watch(int channel, int meeting) {
  const int both = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  if (both < 0 || epoll_ctl(both, EPOLL_CTL_ADD, channel, &event) != 0 ||
      epoll_ctl(both, EPOLL_CTL_ADD, meeting, &event) != 0) {
    const int code = errno;
    if (both >= 0) close(both);
    throw dtutils::Error("stream", "no epoll instance could be made",
                         "raise the limit of descriptors (ulimit -n)", code);
  }
  return both;
}

}  // namespace

Link::Link(dtutils::ProtectionDomain& domain, const Sizes& sizes)
    : memory_(sizes.memory, dtutils::PageKind::kSmall, -1),
      region_(domain, memory_.data(), memory_.size()),
      channel_(domain.device()),
      sends_(domain.device(), kRequests, &channel_),
      receives_(domain.device(), sizes.receives, &channel_),
      pair_(domain, sends_, receives_, pair_options(sizes)),
      watched_(channel_.fd()) {}

Link::~Link() {
  if (watched_ != channel_.fd()) close(watched_);
  if (meeting_ >= 0) close(meeting_);
}

Introduction Link::introduction(FlowControl flow) const {
  Introduction mine{};
  mine.magic = kMagic;
  mine.version = kVersion;
  mine.flow = static_cast<std::uint32_t>(flow);
  mine.endpoint = pair_.endpoint();
  mine.address = reinterpret_cast<std::uint64_t>(memory_.data());
  mine.rkey = region_.rkey();
  return mine;
}

void Link::connect(const Introduction& peer) {
  pair_.connect(peer.endpoint);
  // The device checks every access against the region of that key.
  peer_ = {peer.address, ~std::uint64_t{0}, peer.rkey, 0, 0};
}

bool Link::on_shm() const noexcept {
  return pair_.device().info().kind == dtutils::DeviceKind::kShm;
}

void Link::keep(int meeting) {
  if (on_shm()) {
    close(meeting);
    return;
  }
  meeting_ = meeting;
  watched_ = watch(channel_.fd(), meeting);
}

void Link::drain_events() noexcept {
  // What is not there yet wakes in vain, and is taken next time.
  for (auto left = std::max(1u, std::exchange(events_due_, 0)); left != 0; --left) {
    if (channel_.wait(std::chrono::milliseconds(0)) == nullptr) return;
  }
}

void Link::arm(bool sends) noexcept {
  // A queue that cannot be armed has failed, and the next look finds that.
  receives_armed_ = receives_.arm();
  if (sends && signals_ != signals_seen_) arm_sends();
  if (!std::exchange(hears_peer_, false) && hung_up()) give_up();
}

void Link::look_at_meeting() noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_at_meeting_ < kLookForPeer) return;
  looked_at_meeting_ = now;
  if (hung_up()) give_up();
}

bool Link::hung_up() const noexcept {
  if (meeting_ < 0) return false;
  char byte;
  const ssize_t bytes = recv(meeting_, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  // A peer of another host may be reset, or time out.
  return bytes == 0 || (bytes < 0 && !is_transient(errno));
}

}  // namespace streams
