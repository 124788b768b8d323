// SPDX-License-Identifier: MIT
// How a packetized stream begins, looks at its queues, and falls asleep.
#include "packetized.hpp"

#include <algorithm>
#include <new>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"

namespace streams {
namespace {

/// Looks for the answer to a question before this side sleeps until it is there.
constexpr std::uint32_t kLooksForAnswer = 96;
/// From this one on others get the core: a thread of the kernel may be the one that answers. Each
/// may take a whole time slice, so there are few of them.
constexpr std::uint32_t kLooksBeforeYield = 64;
/// A bell, and one more that the next question makes possible.
constexpr std::uint32_t kBells = 2;
/// Inline bytes that are worth a request.
constexpr std::uint32_t kLongestPiece = 512;
/// The same where all bytes leave so, and a request takes the time in which some hundred are
/// copied.
constexpr std::uint32_t kLongestDirect = 4096;

bool is_direct(dtutils::Device& device, Packetized::Source source) {
  // The shm device takes bytes out of any memory while they are posted.
  return device.info().kind == dtutils::DeviceKind::kShm &&
         source == Packetized::Source::kAsTheDeviceLets;
}

/// On shm the pages of the larger ring arrive when it is offered. Memory that is pinned has all of
/// its pages at once, so there it is registered then.
Link::Sizes sizes_for(dtutils::Device& device, RingSizes sizes, std::uint32_t staging,
                      std::uint32_t receives, bool direct) {
  return {
      .memory = kStagingAt + staging + sizes.initial + (direct ? sizes.larger : 0),
      .receives = kBells + receives,
      .inline_bytes = std::min(device.info().max_inline, direct ? kLongestDirect : kLongestPiece)};
}

}  // namespace

Packetized::Packetized(dtutils::ProtectionDomain& domain, RingSizes sizes,
                       std::uint32_t useful_space, Source source)
    : sizes_(sizes),
      ring_(sizes_),
      ring_there_(0),
      first_staging_(is_direct(domain.device(), source) ? kStaging : sizes_.initial),
      useful_space_(useful_space),
      writes_(is_direct(domain.device(), source) ? 0 : kReceivesForWrites),
      domain_(domain),
      link_(domain, sizes_for(domain.device(), sizes_, first_staging_, writes_.receives(),
                              is_direct(domain.device(), source))),
      staging_(link_.region().local(kStagingAt, first_staging_)),
      heard_by_write_(writes_.receives() != 0) {
  if (link_.pair().max_inline() < kInlineNeeded) {
    throw dtutils::Error("stream", "the device grants too few inline bytes",
                         "use another device, or FlowControl::kCredits");
  }
  if (is_direct(domain.device(), source)) {
    direct_ = link_.pair().max_inline();
    // A child that goes on for this process finds it there, too.
    larger_ = link_.region().local(larger_behind(), 0);
  }
  new (link_.data()) Board{};
  publish();
}

Introduction Packetized::introduction() const {
  Introduction mine = link_.introduction(FlowControl::kPacketized);
  mine.ring = sizes_.initial;
  mine.larger_ring = sizes_.larger;
  mine.staging = first_staging_;
  mine.receives = writes_.receives();
  return mine;
}

void Packetized::meet(const Introduction& peer) {
  ring_there_ = Ring({peer.ring, peer.larger_ring});
  staging_there_ = peer.staging;
  packs_ = direct_ != 0 || ring_there_.size() <= first_staging_;
  signal_part_ = part_to_signal();
  writes_.meet(peer.receives);
  link_.connect(peer);
  for (std::uint32_t i = 0; i < kBells + writes_.receives(); ++i) {
    if (link_.pair().post_receive({}, 0) != dtutils::PostResult::kOk) {
      throw dtutils::Error("stream", "the peer left while it connected", "connect again");
    }
  }
}

void Packetized::poll_sends() noexcept {
  while (link_.poll_sends([this](std::uint64_t id) {
    completed_ = std::max(completed_, id >> 2);
    switch (static_cast<Done>(id & 3)) {
      case kWritten:
        return;
      case kAsked:
        return on_answer();
      case kFetched:
        fetching_ = false;
        arrived_ = std::max(arrived_, fetched_to_);
        sends_ = 0;
        return;
      case kCompleted:
        completing_ = false;
        return;
    }
  })) {
  }
}

void Packetized::wait_a_bit(dtutils::Backoff& backoff) noexcept {
  poll_sends();
  backoff.pause();
}

void Packetized::poll() noexcept {
  poll_sends();
  if (!fetching_) poll_receives();
  link_.look_for_peer();
  if (link_.broken()) asking_ = fetching_ = false;
  // What was written before the peer went away.
  if (link_.flushed()) look_at_sent();
  if (link_.broken()) return;
  // What had to wait for room in the send queue.
  if (written_ != told_ || (written_ != accepted_ && !may_pack(0))) send_packed();
  send_end();
  if (bell_pending_) ring_bell(false);
  return_space();
}

bool Packetized::wants_space() noexcept {
  read_feedback();
  return !cannot_send() && (sendable() < useful_space_ || !link_.has_room(kRoomToSend));
}

std::size_t Packetized::writable() noexcept {
  if (looks_++ % 8 == 0 || poll_always_) poll();
  look_at_sent();
  read_feedback();
  if (cannot_send()) return 0;
  if (!link_.has_room(kRoomToSend)) poll_sends();
  return link_.has_room(kRoomToSend) ? sendable() : 0;
}

bool Packetized::send_ready() noexcept { return writable() != 0 || cannot_send(); }

void Packetized::arm() noexcept {
  link_.drain_events();
  poll();
  poll_always_ = true;
  const bool wants = wants_space();
  if (wants != wanted_space_) quiet_ = false;
  wanted_space_ = wants;
  for (std::uint32_t looks = 0;
       looks < kLooksForAnswer && !quiet_ && !sleeps_unasked() && !link_.broken(); ++looks) {
    ask_for_bell();
    poll_sends();
    if (looks < kLooksBeforeYield) {
      dtutils::cpu_pause();
    } else {
      dtutils::give_way();
    }
  }
  // Who sleeps unasked waits for nothing that it has sent: what poll() had to put off needs room.
  link_.arm(!sleeps_unasked() || asking_ || fetching_ || closed_ || !link_.has_room(kRoomToSend));
  // A bell that came before this makes no event, but the answer to one more question does.
  poll();
  if (quiet_ || sleeps_unasked()) return;
  link_.arm_sends();
  poll_sends();
  ask_for_bell();
}

bool Packetized::sleeps_unasked() const noexcept {
  return heard_by_write_ && !wanted_space_ && !needs_bell_ && (flags_there_ & kPacking) == 0;
}

void Packetized::ask_for_bell() noexcept {
  look_at_sent();
  read_feedback();
  if (!link_.has_room(kRoomToSend)) poll_sends();
  if (asking_ || fetching_ || !link_.has_room(kRoomToSend)) return;
  if (bell_came_) ++armed_;
  bell_came_ = false;
  ask();
}

}  // namespace streams
