// SPDX-License-Identifier: MIT
// Writes of versioned segments: by call, after others, and one-sided.
#include <cstring>

#include "client_calls.hpp"
#include "dtutils/device_memory.hpp"

namespace memory::detail {
namespace {

/// Lines of a segment that is written one-sided where READs are not in order: three words of each
/// are written by themselves.
constexpr std::uint64_t kMostLines = 8;
/// Where the lock word, the head and the data of a one-sided write lie in a scratch.
constexpr std::uint64_t kLockFound = 0;
constexpr std::uint64_t kHeadFound = 16;
constexpr std::uint64_t kData = 64;

std::uint64_t word(const Operation& operation, std::uint64_t at) noexcept {
  return dtutils::load_device_word(
      reinterpret_cast<const std::uint64_t*>(operation.scratch.data() + at));
}

}  // namespace

Status ClientState::write_by_call(const Place& place, const void* from, std::uint64_t bytes) {
  if (bytes <= kCarriedBytes) {
    return with_write_request(place, from, bytes,
                              [&](const auto& request) { return ask(place.home(), request); })
        .status;
  }
  Used operation(*this, bytes);
  std::memcpy(operation->scratch.data(), from, bytes);
  return ask(place.home(), LongWriteRequest{0, place, operation->scratch.remote().part(0, bytes)})
      .status;
}

void ClientState::take_clock(dsfabric::ProcessId home, std::byte* to) {
  const std::scoped_lock lock(space.clock_mutex);
  std::uint64_t* const row = space.clock.data() + home.value * space.homes.size();
  std::memcpy(to, row, clock_bytes());
  ++row[self.value];
}

Status ClientState::write_causal(const Place& place, const void* from, std::uint64_t bytes) {
  // First, since a number that was taken has to come to the home.
  require_may_call();
  const std::uint64_t clock = clock_bytes();
  Used operation(*this, clock + bytes);
  take_clock(place.home(), operation->scratch.data());
  std::memcpy(operation->scratch.data() + clock, from, bytes);
  return ask(place.home(),
             CausalWriteRequest{0, place, operation->scratch.remote().part(0, clock + bytes)})
      .status;
}

/// The exclusive lock of a segment, held from afar; released by a post.
class ClientState::OneSided {
 public:
  OneSided(ClientState& state, const Place& place, Operation& operation)
      : state_(state), place_(place), operation_(operation), to_(state.transmitter(place)) {
    operation.transmitter = &to_;
  }
  OneSided(const OneSided&) = delete;
  OneSided& operator=(const OneSided&) = delete;
  ~OneSided() {
    if (held_) state_.unlock(place_, mine());
  }

  /// kDone: it is held, no reader is in, and the head was found. kAgain: it has subscribers.
  Status lock() {
    Tries tries;
    std::uint64_t expected = 0;
    for (;;) {
      operation_.arm();
      const bool posted =
          to_.compare_and_swap(operation_.scratch.local(kLockFound, kWord),
                               state_.at(place_, 0, kWord), expected, expected | mine());
      held_ = posted;  // until it is known better
      if (!posted) {
        operation_.arrived.fail();
        return Status::kHomeFailed;
      }
      if (!to_.read(operation_.scratch.local(kHeadFound, kHeadBytes),
                    state_.at(place_, kHeadAt, kHeadBytes), operation_.arrived) ||
          !state_.await(operation_)) {
        held_ = false;
        return Status::kHomeFailed;
      }
      const std::uint64_t found = word(operation_, kLockFound);
      held_ = found == expected;
      if (held_) break;
      if ((found & kSubscribed) != 0) return Status::kAgain;
      expected = has_writer(found) ? 0 : found;
      if (!has_writer(found)) continue;
      if (const Status status = state_.again(tries, place_, found); status != Status::kAgain) {
        return status;
      }
    }
    if ((expected & kSubscribed) != 0) return Status::kAgain;
    return (expected & kReaders) == 0 ? Status::kDone : wait_for_readers();
  }
  std::uint64_t mine() const noexcept { return writer_word(state_.self); }
  /// The words of a segment, inline.
  bool write_word(std::uint64_t from_header, std::uint64_t value) noexcept {
    return to_.write({&value, kWord, 0}, state_.at(place_, from_header, kWord), dtutils::kInlined);
  }
  bool write(std::uint64_t in_scratch, std::uint64_t from_header, std::uint64_t bytes) noexcept {
    return to_.write(operation_.scratch.local(in_scratch, static_cast<std::uint32_t>(bytes)),
                     state_.at(place_, from_header, bytes));
  }
  /// Unlocks behind what was posted, and waits for all of it.
  bool finish() {
    held_ = false;
    operation_.arm();
    return to_.fetch_and_add(operation_.scratch.local(kLockFound, kWord),
                             state_.at(place_, 0, kWord), ~mine() + 1, operation_.arrived) &&
           state_.await(operation_);
  }

 private:
  /// No further readers come in; each of those that are in has one read to make, or dies.
  Status wait_for_readers() {
    Tries tries;
    for (;;) {
      operation_.arm();
      if (!to_.read(operation_.scratch.local(kLockFound, kWord), state_.at(place_, 0, kWord),
                    operation_.arrived) ||
          !state_.await(operation_)) {
        held_ = false;
        return Status::kHomeFailed;
      }
      const std::uint64_t found = word(operation_, kLockFound);
      if ((found & kReaders) == 0) return Status::kDone;
      if (const Status status = state_.again(tries, place_, found); status != Status::kAgain) {
        return status;
      }
    }
  }

  ClientState& state_;
  const Place& place_;
  Operation& operation_;
  dtutils::Transmitter& to_;
  bool held_ = false;
};

Status ClientState::write_one_sided(const Place& place, const void* from, std::uint64_t bytes) {
  const std::uint64_t lines = lines_of(place.length);
  if (space.lines && lines > kMostLines) return Status::kAgain;
  Used operation(*this, kData + (space.lines ? lines * kLine : bytes));
  OneSided segment(*this, place, *operation);
  const Status locked = segment.lock();
  if (locked != Status::kDone) return locked;
  const Head head = Head::at(operation->scratch.data() + kHeadFound);
  if (const Status status = head.judge(place); status != Status::kDone) return status;
  const std::uint64_t now = head.version;
  if ((now & kDamagedBit) != 0 && bytes != place.length) return Status::kDamaged;
  const std::uint64_t after = next_version(now);
  std::byte* const data = operation->scratch.data() + kData;
  bool posted = true;
  if (!space.lines) {
    std::memcpy(data, from, bytes);
    posted = segment.write_word(back_at(place.length), now | kBusy) &&
             segment.write(kData, kHeader + place.first, bytes) &&
             segment.write_word(kVersionAt, after) &&
             segment.write_word(back_at(place.length), after);
  } else {
    // All lines get the new version, so all are written.
    const auto size = static_cast<std::uint32_t>(lines * kLine);
    operation->arm();
    if (!operation->transmitter->read(operation->scratch.local(kData, size),
                                      at(place, kHeader, size), operation->arrived) ||
        !await(*operation)) {
      return Status::kHomeFailed;
    }
    for_each_piece(place.first, bytes,
                   [&](std::uint64_t to, std::uint64_t done, std::uint64_t piece) {
                     std::memcpy(data + to, static_cast<const std::byte*>(from) + done, piece);
                   });
    const std::uint64_t busy = now | kBusy;
    const auto each_word = [&](std::uint64_t in_line, std::uint64_t value) {
      for (std::uint64_t i = 0; posted && i < lines; ++i) {
        posted = segment.write_word(kHeader + i * kLine + in_line, value);
      }
    };
    each_word(kBackAt, busy);
    for (std::uint64_t i = 0; i < lines; ++i) {
      std::memcpy(data + i * kLine, &busy, kWord);
      std::memcpy(data + i * kLine + kBackAt, &busy, kWord);
    }
    posted = posted && segment.write(kData, kHeader, size) && segment.write_word(kVersionAt, after);
    each_word(0, after);
    each_word(kBackAt, after);
  }
  return posted && segment.finish() ? Status::kDone : Status::kHomeFailed;
}

}  // namespace memory::detail
