// SPDX-License-Identifier: MIT
// The home's requests: allocate, free, write, atomics.
#include "home.hpp"

#include <fmt/format.h>

#include <cstring>

#include "dtutils/error.hpp"
#include "dtutils/option_memory.hpp"
#include "locked.hpp"

namespace memory::detail {

using dsfabric::ProcessId;

Home::Home(dsfabric::Fabric& fabric, const SpaceOptions& options, bool lines)
    : fabric_(fabric),
      lines_(lines),
      processor_atomics_(fabric.device().atomics_with_cpu),
      executed_(fabric.founders()) {
  const std::uint64_t bytes = round_up(options.bytes, Slots::kUnit);
  for (const dtutils::NumaZone zone : fabric.info(fabric.process()).zones) {
    memory_.push_back(dtutils::allocate_for_option(fabric.general_allocator(zone), bytes,
                                                   "memory::Space", "SpaceOptions::bytes", kLine));
    slots_.emplace_back(bytes);
  }
}

std::optional<Segment> Home::find(const Place& place, Status& status) const noexcept {
  status = Status::kForeign;
  if (place.home() != fabric_.process() || place.zone() >= memory_.size()) return std::nullopt;
  if (slots_[place.zone()].size_at(place.offset()) == 0) return std::nullopt;
  status = Status::kDone;
  return Segment(memory_[place.zone()].data() + place.offset(), lines_);
}

Answer Home::allocate(std::uint32_t zone, std::uint64_t length, std::uint32_t type, Kind kind) {
  if (zone >= memory_.size() || length == 0 || length > 0xffff'ffffu) {
    return {0, Status::kOutOfRange};
  }
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  {
    const std::scoped_lock lock(slots_mutex_);
    bool fresh = false;
    const auto taken = slots_[zone].take(slot_bytes(kind, lines_, length), fresh);
    if (!taken) return {0, Status::kNoMemory};
    offset = *taken;
    if (fresh) std::memset(memory_[zone].data() + offset, 0, sizeof(Header));
    size = slots_[zone].size_at(offset);
    in_use_ += size;
    ++segments_;
  }
  const Segment segment(memory_[zone].data() + offset, lines_);
  Header& header = segment.header();
  // Readers with old pointers may look: they find the version of a free place until publish().
  const std::uint32_t generation = generation_of(segment.version()) + 1;
  header.length = static_cast<std::uint32_t>(length);
  header.type = type;
  header.kind = static_cast<std::uint32_t>(kind);
  segment.mark(0);
  segment.clear();
  segment.publish(first_version(generation));
  const std::uint64_t place =
      std::uint64_t{fabric_.process().value} << 48 | std::uint64_t{zone} << 40 | offset;
  return {place, Status::kDone, {}, generation};
}

Answer Home::free(const Place& place) {
  Status status;
  const auto segment = find(place, status);
  if (!segment) return {0, status};
  Locked locked(*this, *segment, place);
  if (!locked) return {0, Status::kAgain};
  const Head head = segment->head();
  if (status = head.judge(place); status != Status::kDone) return {0, status};
  const std::uint64_t now = head.version;
  const std::uint64_t after = freed_version(now);
  if ((locked.before() & kSubscribed) != 0) {
    tell_subscribers(place, after);
    const std::scoped_lock lock(subscribers_mutex_);
    subscribers_.erase(place.place);
    locked.drop(kSubscribed);
  }
  segment->mark(now);
  segment->publish(after);
  locked.release();
  const std::scoped_lock lock(slots_mutex_);
  in_use_ -= slots_[place.zone()].size_at(place.offset());
  --segments_;
  // A place whose generations are used up is never used again.
  if (after != 0) slots_[place.zone()].give_back(place.offset());
  return {};
}

Status Home::write_locked(const Place& place, const Segment& segment, std::uint64_t lock,
                          std::uint64_t bytes, const void* data) noexcept {
  const Header& header = segment.header();
  const Head head = segment.head();
  if (const Status status = head.judge(place); status != Status::kDone) return status;
  const std::uint64_t now = head.version;
  if (place.type != 0 && header.type != 0 && place.type != header.type) return Status::kWrongType;
  if (place.first > header.length || bytes > header.length - place.first) {
    return Status::kOutOfRange;
  }
  if (segment.kind() == Kind::kPlain) {
    segment.copy_in(place.first, data, bytes);
    return Status::kDone;
  }
  if ((now & kDamagedBit) != 0 && bytes != header.length) return Status::kDamaged;
  const std::uint64_t after = next_version(now);
  // Before anybody can read the new version: from then on nobody may find the old one.
  if ((lock & kSubscribed) != 0) tell_subscribers(place, after);
  segment.mark(now);
  segment.copy_in(place.first, data, bytes);
  segment.publish(after);
  return Status::kDone;
}

Answer Home::write(const Place& place, std::uint64_t bytes, const Payload& payload,
                   ProcessId source) {
  Status status;
  const auto segment = find(place, status);
  if (!segment) return {0, status};
  // Before the lock, so that nobody waits for this.
  dtutils::RDMAMemory fetched;
  const void* data = payload.bytes;
  if (data == nullptr && bytes != 0) {
    if (bytes > segment->header().length) return {0, Status::kOutOfRange};
    fetched = fabric_.general_allocator().allocate(bytes);
    if (!fabric_.transmitter(source).blocking_read(
            fetched.local(0, static_cast<std::uint32_t>(bytes)), payload.remote)) {
      return {0, Status::kHomeFailed};  // the process that asked is gone
    }
    data = fetched.data();
  }
  Locked locked(*this, *segment, place);
  if (!locked) return {0, Status::kAgain};
  return {0, write_locked(place, *segment, locked.before(), bytes, data)};
}

Answer Home::causal_write(const Place& place, std::uint64_t bytes, const std::uint64_t* clock,
                          const void* data, ProcessId source) {
  // In this order: who holds it changes the counts and the segment together. It may wait for
  // subscribers meanwhile, so nobody waits for it here.
  const std::unique_lock lock(causal_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return {0, Status::kAgain};
  for (std::uint16_t i = 0; i < executed_.size(); ++i) {
    const bool own = i == source.value;
    // What a failed process has asked for and did not come will never come: it is cut off.
    if (own ? executed_[i] != clock[i] : executed_[i] < clock[i] && !fabric_.failed({i})) {
      return {0, Status::kAgain};
    }
  }
  const Answer answer = write(place, bytes, {data, {}}, source);
  if (answer.status != Status::kAgain) ++executed_[source.value];
  return answer;
}

Answer Home::atomic(const Place& place, bool compare, std::uint64_t compare_or_add,
                    std::uint64_t swap) {
  Status status;
  const auto segment = find(place, status);
  if (!segment) return {0, status};
  if (place.first % kWord != 0) return {0, Status::kMisaligned};
  Locked locked(*this, *segment, place);
  if (!locked) return {0, Status::kAgain};
  const Header& header = segment->header();
  const Head head = segment->head();
  if (status = head.judge(place); status != Status::kDone) return {0, status};
  const std::uint64_t now = head.version;
  if (header.length < kWord || place.first > header.length - kWord) {
    return {0, Status::kOutOfRange};
  }
  if ((now & kDamagedBit) != 0) return {0, Status::kDamaged};
  std::uint64_t before = 0;
  segment->copy_out(place.first, &before, sizeof before);
  if (compare && before != compare_or_add) return {before, Status::kDone};
  const std::uint64_t after = compare ? swap : before + compare_or_add;
  Place untyped = place;
  untyped.type = 0;
  return {before, write_locked(untyped, *segment, locked.before(), sizeof after, &after)};
}

std::uint64_t Home::bytes_in_use() const {
  const std::scoped_lock lock(slots_mutex_);
  return in_use_;
}

std::uint64_t Home::segments() const {
  const std::scoped_lock lock(slots_mutex_);
  return segments_;
}

}  // namespace memory::detail
