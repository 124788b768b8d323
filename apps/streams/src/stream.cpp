// SPDX-License-Identifier: MIT
// How a stream begins, waits and ends.
#include "streams/stream.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "introduction.hpp"
#include "message.hpp"

namespace streams {
namespace {

using dtutils::PostResult;

/// Sleepers look again after this time, since a peer that is stopped may owe them an event.
constexpr std::chrono::milliseconds kSleep{100};

dtutils::QueuePairOptions pair_options() {
  dtutils::QueuePairOptions options;
  options.send_depth = kRequests;
  options.receive_depth = kReceives;
  options.scatter_gather = 1;
  options.max_inline = 0;
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

Stream::Stream(dtutils::ProtectionDomain& domain)
    : memory_(2 * kRing, dtutils::PageKind::kSmall, -1),
      region_(domain, memory_.data(), memory_.size(),
              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
      channel_(domain.device()),
      sends_(domain.device(), kRequests, &channel_),
      receives_(domain.device(), kReceives, &channel_),
      pair_(domain, sends_, receives_, pair_options()),
      watched_(channel_.fd()) {}

Stream::~Stream() {
  close_gracefully();
  if (watched_ != channel_.fd()) close(watched_);
  if (meeting_ >= 0) close(meeting_);
}

Introduction Stream::introduction() const {
  return {kMagic,
          kVersion,
          kRing,
          pair_.endpoint(),
          reinterpret_cast<std::uint64_t>(region_.data() + kRing),
          region_.rkey(),
          0};
}

void Stream::meet(const Introduction& peer) {
  ring_there_ = {peer.address, kRing, peer.rkey, 0, 0};
  pair_.connect(peer.endpoint);
  for (std::uint32_t i = 0; i < kReceives; ++i) {
    if (pair_.post_receive({}, 0) != PostResult::kOk) {
      throw dtutils::Error("stream", "the peer left while it connected", "connect again");
    }
  }
}

void Stream::keep(int meeting) {
  if (pair_.device().info().kind == dtutils::DeviceKind::kShm) {
    close(meeting);
    return;
  }
  meeting_ = meeting;
  watched_ = watch(channel_.fd(), meeting);
}

void Stream::arm() noexcept {
  while (channel_.wait(std::chrono::milliseconds(0)) != nullptr) {
  }
  // A queue that cannot be armed has failed, and the next look finds that.
  static_cast<void>(sends_.arm());
  static_cast<void>(receives_.arm());
  if (hung_up()) {
    progress();
    broken_ = flushed_ = true;
  }
}

bool Stream::hung_up() const noexcept {
  char byte;
  return meeting_ >= 0 && recv(meeting_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

template <class Ready>
bool Stream::wait(Ready ready, std::chrono::steady_clock::time_point end) noexcept {
  for (std::uint32_t looks = 0; looks < kLooksBeforeSleep; ++looks) {
    if (ready()) return true;
    dtutils::cpu_pause();
  }
  for (;;) {
    arm();
    if (ready()) return true;
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return false;
    const auto sleep = std::chrono::ceil<std::chrono::milliseconds>(left);
    pollfd entry{watched_, POLLIN, 0};
    ::poll(&entry, 1, static_cast<int>(std::min(sleep, kSleep).count()));
  }
}

Result Stream::send(std::span<const std::byte> bytes, std::chrono::milliseconds timeout) noexcept {
  const auto end = dtutils::Deadline(timeout).end();
  std::size_t done = 0;
  for (;;) {
    const Result result = try_send(bytes.subspan(done));
    done += result.bytes;
    if (done == bytes.size()) return {done, result.status};
    if (result.status != Status::kOk && result.status != Status::kWouldBlock) {
      return {done, result.status};
    }
    if (!wait([this] { return send_ready(); }, end)) return {done, Status::kTimeout};
  }
}

Result Stream::receive(std::span<std::byte> into, std::chrono::milliseconds timeout) noexcept {
  const auto end = dtutils::Deadline(timeout).end();
  for (;;) {
    const Result result = try_receive(into);
    if (result.status != Status::kWouldBlock) return result;
    if (!wait([this] { return receive_ready(); }, end)) return {0, Status::kTimeout};
  }
}

void Stream::finish_sending() noexcept {
  end_wanted_ = true;
  progress();
}

void Stream::close_gracefully() noexcept {
  // A pair that was never connected has nobody to tell.
  if (ring_there_.length == 0) return;
  progress();
  if (peer_closed_) return;
  const auto end = std::chrono::steady_clock::now() + kLinger;
  bool said = false;
  std::uint64_t needed = 0;
  const std::uint32_t closed = message(MessageKind::kClosed, arrived_ != taken_ ? 1 : 0);
  wait(
      [&] {
        poll_sends();
        if (broken_) return true;
        if (!said) {
          // The completion of this one is that of all before it.
          unsignaled_ = kSignalInterval;
          said = post_control(closed) == PostResult::kOk;
          needed = signals_posted_;
        }
        return said && signals_seen_ == needed;
      },
      end);
}

}  // namespace streams
