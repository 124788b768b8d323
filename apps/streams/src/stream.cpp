// SPDX-License-Identifier: MIT
// A stream: one of the flow controls, and how a thread waits on it.
#include "streams/stream.hpp"

#include <algorithm>

#include "credits.hpp"
#include "dtutils/poll_until.hpp"
#include "dtutils/wait.hpp"
#include "packetized.hpp"
#include "zero_copy.hpp"

namespace streams {
namespace {

/// Sleepers look again after this time, since a peer that is stopped may owe them an event.
constexpr std::chrono::milliseconds kSleep{100};

}  // namespace

Stream::Stream(dtutils::ProtectionDomain& domain, const StreamOptions& options) {
  if (options.flow == FlowControl::kCredits) {
    credits_ = std::make_unique<Credits>(domain);
  } else if (options.flow == FlowControl::kZeroCopy) {
    zero_copy_ = std::make_unique<ZeroCopy>(domain, options);
  } else {
    packetized_ =
        std::make_unique<Packetized>(domain, RingSizes{options.ring, options.largest_ring});
  }
}

Stream::~Stream() { close_gracefully(); }

Introduction Stream::introduction() const {
  return with_flow([](auto& flow) { return flow.introduction(); });
}

void Stream::meet(const Introduction& peer) {
  with_flow([&](auto& flow) { flow.meet(peer); });
}

void Stream::keep(int meeting) {
  with_flow([](auto& flow) -> Link& { return flow.link(); }).keep(meeting);
}

Result Stream::try_send(std::span<const iovec> buffers) noexcept {
  return with_flow([&](auto& flow) { return flow.send(buffers); });
}

Result Stream::try_send(std::span<const std::byte> bytes) noexcept {
  const iovec buffer{const_cast<std::byte*>(bytes.data()), bytes.size()};
  return try_send(std::span(&buffer, 1));
}

Result Stream::try_receive(std::span<const iovec> buffers) noexcept {
  return with_flow([&](auto& flow) { return flow.receive(buffers); });
}

Result Stream::try_receive(std::span<std::byte> into) noexcept {
  const iovec buffer{into.data(), into.size()};
  return try_receive(std::span(&buffer, 1));
}

Result Stream::try_peek(std::span<std::byte> into) noexcept {
  const iovec buffer{into.data(), into.size()};
  return with_flow([&](auto& flow) { return flow.peek(std::span(&buffer, 1)); });
}

std::size_t Stream::readable() noexcept {
  return with_flow([](auto& flow) { return flow.readable(); });
}

std::size_t Stream::writable() noexcept {
  return with_flow([](auto& flow) { return flow.writable(); });
}

bool Stream::receive_ready() noexcept {
  return with_flow([](auto& flow) { return flow.receive_ready(); });
}

bool Stream::send_ready() noexcept {
  return with_flow([](auto& flow) { return flow.send_ready(); });
}

bool Stream::closed_by_peer() noexcept {
  return with_flow([](auto& flow) {
    // A look finds what the peer did last.
    static_cast<void>(flow.receive_ready());
    return flow.peer_closed();
  });
}

void Stream::finish_sending() noexcept {
  with_flow([](auto& flow) { flow.finish_sending(false); });
}

void Stream::hand_over() noexcept {
  with_flow([](auto& flow) { flow.finish_sending(true); });
}

bool Stream::handed_over() noexcept {
  return with_flow([](auto& flow) {
    static_cast<void>(flow.receive_ready());
    return flow.peer_handed_over();
  });
}

void Stream::announce_sharing(bool shared) noexcept {
  if (packetized_ != nullptr) packetized_->announce_sharing(shared);
}

bool Stream::awaits_survivor() noexcept {
  return packetized_ != nullptr && packetized_->awaits_survivor();
}

bool Stream::has_all(std::uint64_t word) const noexcept {
  return packetized_ != nullptr && packetized_->has_all(word);
}

std::optional<std::uint64_t> Stream::survivor_word() const noexcept {
  return packetized_ == nullptr ? std::nullopt : packetized_->survivor_word();
}

std::uint64_t Stream::owner_received() const noexcept {
  return packetized_ == nullptr ? 0 : packetized_->owner_received();
}

std::uint64_t Stream::owner_was_sent() const noexcept {
  return packetized_ == nullptr ? 0 : packetized_->owner_was_sent();
}

bool Stream::owner_was_sent_end() const noexcept {
  return packetized_ != nullptr && packetized_->owner_was_sent_end();
}

std::size_t Stream::copy_unreceived(std::span<const iovec> into, std::uint64_t end) const noexcept {
  return packetized_ == nullptr ? 0 : packetized_->copy_unreceived(into, end);
}

int Stream::descriptor() const noexcept {
  return with_flow([](auto& flow) { return flow.link().descriptor(); });
}

void Stream::arm() noexcept {
  with_flow([](auto& flow) { flow.arm(); });
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
    const auto now = std::chrono::steady_clock::now();
    if (end <= now) return false;
    dtutils::poll_until(descriptor(), POLLIN, std::min(end, now + kSleep));
  }
}

Result Stream::send(std::span<const std::byte> bytes, std::chrono::milliseconds timeout) noexcept {
  const auto end = dtutils::Deadline(timeout).end();
  std::size_t done = 0;
  for (;;) {
    const std::span<const std::byte> rest = bytes.subspan(done);
    Result result{0, Status::kOk};
    if (!offer(rest, end, result)) {
      result = try_send(zero_copy_ == nullptr ? rest : rest.first(zero_copy_->bytes_to_copy(rest)));
    }
    done += result.bytes;
    if (done == bytes.size()) return {done, result.status};
    if (result.status != Status::kOk && result.status != Status::kWouldBlock) {
      return {done, result.status};
    }
    if (!wait([this] { return send_ready(); }, end)) return {done, Status::kTimeout};
  }
}

bool Stream::offer(std::span<const std::byte> bytes, std::chrono::steady_clock::time_point end,
                   Result& result) noexcept {
  if (zero_copy_ == nullptr) return false;
  for (;;) {
    switch (zero_copy_->offer(bytes)) {
      case ZeroCopy::Offering::kCopy:
        return false;
      case ZeroCopy::Offering::kLater:
        if (wait([this] { return zero_copy_->offer_ready(); }, end)) continue;
        result = {0, Status::kTimeout};
        return true;
      case ZeroCopy::Offering::kMade:
        wait([this] { return zero_copy_->settled(); }, end);
        result = zero_copy_->conclude();
        return true;
      case ZeroCopy::Offering::kAsynchronous:
        result = {zero_copy_->offered(), Status::kOk};
        return true;
    }
  }
}

Result Stream::try_send_asynchronously(std::span<const std::byte> bytes) noexcept {
  if (zero_copy_ == nullptr) return try_send(bytes);
  if (zero_copy_->offer(bytes, false) == ZeroCopy::Offering::kAsynchronous) {
    return {zero_copy_->offered(), Status::kOk};
  }
  return try_send(bytes.first(zero_copy_->bytes_to_copy(bytes)));
}

Status Stream::settle(std::chrono::milliseconds timeout) noexcept {
  if (zero_copy_ == nullptr) return Status::kOk;
  if (!wait([this] { return zero_copy_->settled(); }, dtutils::Deadline(timeout).end())) {
    return Status::kTimeout;
  }
  return zero_copy_->offered() == 0 ? Status::kOk : Status::kBrokenPipe;
}

Result Stream::receive(std::span<std::byte> into, std::chrono::milliseconds timeout) noexcept {
  const auto end = dtutils::Deadline(timeout).end();
  for (;;) {
    const Result result = try_receive(into);
    if (result.status != Status::kWouldBlock) return result;
    if (!wait([this] { return receive_ready(); }, end)) return {0, Status::kTimeout};
  }
}

void Stream::close_gracefully() noexcept {
  with_flow([this](auto& flow) {
    Link& link = flow.link();
    // A link that was never connected has nobody to tell.
    if (!link.connected()) return;
    // A look finds what the peer did last.
    static_cast<void>(flow.send_ready());
    if (link.broken() || flow.peer_closed()) return;
    bool said = false;
    wait(
        [&] {
          if (!said) said = flow.say_closed();
          return flow.delivered() && (said || link.broken());
        },
        std::chrono::steady_clock::now() + kLinger);
  });
}

}  // namespace streams
