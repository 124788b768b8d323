// SPDX-License-Identifier: MIT
// StateSource and StateSink: bytes through the ring of a lane.
#include "state_stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dtutils/clock.hpp"
#include "dtutils/hashed_word.hpp"

namespace groups::detail {

namespace {

/// Bytes of messages that may wait behind the state, and when the process has taken it in.
constexpr std::uint64_t kBacklogBehindState = std::uint64_t{64} << 20;
constexpr std::uint64_t kBacklog = 2 * Door::kRing;
/// Bytes that a process that is nearly up to date lacks at most.
constexpr std::uint64_t kNearly = 2 * kBacklog;
/// How long a process that takes in nothing may hold the group up.
constexpr std::chrono::milliseconds kStalled{200};
/// Stands for the bytes written when the donor has given up.
constexpr std::uint64_t kGivenUp = dtutils::kHashedMask;

}  // namespace

void StateSource::begin(dsfabric::ProcessId process, std::uint32_t ticket, std::uint64_t view,
                        std::uint64_t next, std::span<const std::byte> state) {
  end();
  door_.renew_staging();
  process_ = process;
  ticket_ = ticket;
  append({RecordHead::kState, 0, view, next, state.size()}, state);
  state_ = appended_;
  seen_ = dtutils::Clock::now();
}

void StateSource::end() {
  ticket_ = 0;
  pending_ = {};
  head_ = 0;
  written_ = 0;
  appended_ = 0;
  seen_taken_ = 0;
}

void StateSource::give_up() noexcept {
  if (active()) refuse(process_, ticket_);
}

void StateSource::refuse(dsfabric::ProcessId process, std::uint32_t ticket) noexcept {
  if (process_ == process) end();
  door_.write_word(process, dtutils::hashed_word(kGivenUp, ticket));
}

void StateSource::append(const RecordHead& head, std::span<const std::byte> bytes) {
  const auto* const first = reinterpret_cast<const std::byte*>(&head);
  pending_.insert(pending_.end(), first, first + sizeof head);
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  appended_ += sizeof head + bytes.size();
}

bool StateSource::pump() noexcept {
  if (!active() || head_ == pending_.size()) return false;
  const Taken taken = door_.taken(process_);
  const std::uint64_t given_back = taken.ticket == ticket_ ? taken.bytes : 0;
  // The process has copied what it has taken: those writes have been executed, and if the device
  // sends one again, because the answer was lost, the other one drops it (InfiniBand, C9-105).
  std::size_t bytes = std::min(Door::kRing - (written_ - given_back), pending_.size() - head_);
  if (bytes == 0) return false;
  while (bytes != 0) {
    const std::size_t at = written_ % Door::kRing;
    const std::size_t run = std::min(bytes, Door::kRing - at);
    std::memcpy(door_.staging() + at, pending_.data() + head_, run);
    door_.write(process_, at, run);
    head_ += run;
    written_ += run;
    bytes -= run;
  }
  door_.write_word(process_, dtutils::hashed_word(written_, ticket_));
  if (head_ == pending_.size()) {
    pending_.clear();
    head_ = 0;
  }
  return true;
}

bool StateSource::nearly_done() const noexcept {
  const Taken taken = door_.taken(process_);
  return active() && taken.ticket == ticket_ && taken.bytes >= state_ &&
         appended_ - taken.bytes <= kNearly;
}

bool StateSource::behind() const noexcept {
  if (!active()) return false;
  const std::uint64_t waiting = appended_ - std::max(written_, state_);
  if (waiting <= kBacklog) return false;
  const Taken taken = door_.taken(process_);
  const bool has_state = taken.ticket == ticket_ && taken.bytes >= state_;
  return waiting > (has_state ? kBacklog : kBacklogBehindState);
}

bool StateSource::give_up_stalled() noexcept {
  if (!active()) return false;
  const auto now = dtutils::Clock::now();
  const Taken taken = door_.taken(process_);
  const std::uint64_t bytes = taken.ticket == ticket_ ? taken.bytes : 0;
  if (bytes != seen_taken_ || !behind()) {
    seen_taken_ = bytes;
    seen_ = now;
  }
  if (now - seen_ < kStalled) return false;
  give_up();
  return true;
}

void StateSink::begin(dsfabric::ProcessId donor, std::uint32_t ticket) {
  donor_ = donor;
  ticket_ = ticket;
  bytes_ = {};
  head_ = 0;
  taken_ = 0;
  told_ = 0;
  given_up_ = false;
}

bool StateSink::poll() {
  const std::byte* const ring = door_.lane(donor_);
  const std::uint64_t word = door_.lane_word(donor_);
  const std::uint64_t written = word & dtutils::kHashedMask;
  if (!dtutils::is_hashed_word(word, ticket_) || written == taken_) return false;
  if (written == kGivenUp) return std::exchange(given_up_, true) == false;
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(head_));
  head_ = 0;
  while (taken_ != written) {
    const std::size_t at = taken_ % Door::kRing;
    const std::size_t run = std::min<std::size_t>(written - taken_, Door::kRing - at);
    bytes_.insert(bytes_.end(), ring + at, ring + at + run);
    taken_ += run;
  }
  return true;
}

bool StateSink::is_refused_by(dsfabric::ProcessId member) const noexcept {
  return !door_.gone(member) && door_.lane_word(member) == dtutils::hashed_word(kGivenUp, ticket_);
}

void StateSink::give_back() noexcept {
  if (told_ == taken_) return;
  told_ = taken_;
  door_.set_taken({ticket_, taken_});
}

std::optional<StateSink::Record> StateSink::next() {
  RecordHead head;
  if (bytes_.size() - head_ < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes_.data() + head_, sizeof head);
  if (bytes_.size() - head_ - sizeof head < head.bytes) return std::nullopt;
  const std::byte* const first = bytes_.data() + head_ + sizeof head;
  head_ += sizeof head + head.bytes;
  return Record{head, {first, head.bytes}};
}

}  // namespace groups::detail
