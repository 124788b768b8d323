// SPDX-License-Identifier: MIT
// Validated reads: one READ that brings data and versions, where the layout allows it.
#include <array>
#include <cstring>

#include "client_state.hpp"

namespace memory::detail {
namespace {

/// A segment of at most so many bytes is read as a whole rather than by three READs.
constexpr std::uint64_t kReadWhole = 512;

bool is_whole_by_size(const Place& place) noexcept { return place.length <= kReadWhole; }
bool is_whole(const Place& place, Range range) noexcept {
  return is_whole_by_size(place) || range.bytes == place.length;
}
std::uint64_t word_at(const std::byte* bytes) noexcept {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Where things arrive in a scratch, which lies in its lines as the segment does:
//   8  the version behind a range | 48  the end of the header | 64  data or lines
constexpr std::uint64_t kArrived = kHeader;
constexpr std::uint64_t kBackArrived = kWord;

/// The last look at the version of a range is at the word behind the data.
bool consistent(std::uint64_t front, std::uint64_t back) noexcept {
  return front == back && (front & kBusy) == 0;
}

}  // namespace

std::uint64_t ClientState::scratch_for(const Place& place, Range range) const noexcept {
  if (space.lines) return kArrived + (range.bytes / kLineData + 2) * kLine;
  return kArrived + round_up(is_whole(place, range) ? place.length : range.bytes, kWord) + kLine;
}

bool ClientState::post_read(Operation& operation, const Place& place, Range range,
                            const dtutils::LocalBuffer* into) {
  dtutils::Transmitter& from = transmitter(place);
  operation.transmitter = &from;
  const dtutils::RDMAMemory& scratch = operation.scratch;
  if (space.lines) {
    operation.arm();
    const std::uint64_t line = range.first / kLineData;
    const std::uint64_t lines = (range.first + range.bytes - 1) / kLineData - line + 1;
    // The end of the header lies before the first line.
    const std::uint64_t more = line == 0 ? kHeadBytes : 0;
    if (more == 0 &&
        !from.read(scratch.local(kHeadAt, kHeadBytes), at(place, kHeadAt, kHeadBytes))) {
      operation.arrived.fail();
      return false;
    }
    return from.read(
        scratch.local(kArrived - more, static_cast<std::uint32_t>(lines * kLine + more)),
        at(place, kHeader + line * kLine - more, lines * kLine + more), operation.arrived);
  }
  if (is_whole(place, range) && into == nullptr) {
    return expect(operation, post_whole(operation, place));
  }
  if (into != nullptr && range.bytes == place.length) {
    // The same READ, with the data put elsewhere.
    const std::uint64_t padding = back_at(place.length) - kHeader - place.length;
    std::array<ibv_sge, 3> elements{
        ibv_sge{reinterpret_cast<std::uint64_t>(scratch.data() + kHeadAt), kHeadBytes,
                scratch.lkey()},
        ibv_sge{reinterpret_cast<std::uint64_t>(into->address), into->length, into->lkey},
        ibv_sge{reinterpret_cast<std::uint64_t>(scratch.data() + kBackArrived - padding),
                static_cast<std::uint32_t>(padding + kWord), scratch.lkey()}};
    ibv_send_wr request{};
    request.opcode = IBV_WR_RDMA_READ;
    request.sg_list = elements.data();
    request.num_sge = static_cast<int>(elements.size());
    const auto where = at(place, kHeadAt, kHeadBytes);
    request.wr.rdma.remote_addr = where.address;
    request.wr.rdma.rkey = where.rkey;
    return expect(operation, dtutils::post_marked_read(from, request));
  }
  // READs of one connection are executed in the order of their posts.
  const auto bytes = static_cast<std::uint32_t>(range.bytes);
  const bool posted =
      from.read(scratch.local(kHeadAt, kHeadBytes), at(place, kHeadAt, kHeadBytes)) &&
      (bytes == 0 || from.read(into != nullptr ? *into : scratch.local(kArrived, bytes),
                               at(place, kHeader + range.first, bytes)));
  return posted && expect(operation, dtutils::read_marked(from, scratch.local(kBackArrived, kWord),
                                                          at(place, back_at(place.length), kWord)));
}

dtutils::Arrival ClientState::post_whole(Operation& operation, const Place& place) noexcept {
  const std::uint64_t bytes = back_at(place.length) + kWord - kHeadAt;
  return dtutils::read_marked(*operation.transmitter,
                              operation.scratch.local(kHeadAt, static_cast<std::uint32_t>(bytes)),
                              at(place, kHeadAt, bytes));
}

Status ClientState::decode(const Operation& operation, const Place& place, Range range,
                           std::uint64_t& version) const noexcept {
  const std::byte* const scratch = operation.scratch.data();
  const Head head = Head::at(scratch + kHeadAt);
  if (const Status status = head.judge(place); status != Status::kDone) return status;
  const auto judge = [](std::uint64_t word) {
    return (word & kDamagedBit) != 0 ? Status::kDamaged : Status::kDone;
  };
  if (!space.lines) {
    version = head.version;
    const bool as_one = is_whole(place, range) && !operation.direct;
    const std::uint64_t back = word_at(scratch + (as_one ? back_at(place.length) : kBackArrived));
    return consistent(version, back) ? judge(version) : Status::kAgain;
  }
  const std::uint64_t line = range.first / kLineData;
  const std::uint64_t lines = (range.first + range.bytes - 1) / kLineData - line + 1;
  version = word_at(scratch + kArrived);
  for (std::uint64_t i = 0; i < lines; ++i) {
    const std::byte* const at = scratch + kArrived + i * kLine;
    const std::uint64_t front = word_at(at), back = word_at(at + kBackAt);
    if (generation_of(back) != place.generation()) return Status::kFreed;
    if (!consistent(front, back) || front != version) return Status::kAgain;
  }
  return judge(version);
}

void ClientState::copy_part(const Operation& operation, const Place& place, Range range, Range part,
                            void* into) const noexcept {
  const std::byte* const arrived = operation.scratch.data() + kArrived;
  if (!space.lines) {
    const std::uint64_t before = is_whole(place, range) ? 0 : range.first;
    std::memcpy(into, arrived + (part.first - before), part.bytes);
    return;
  }
  const std::uint64_t line = range.first / kLineData;
  for_each_piece(
      part.first, part.bytes, [&](std::uint64_t at, std::uint64_t done, std::uint64_t piece) {
        std::memcpy(static_cast<std::byte*>(into) + done, arrived + at - line * kLine, piece);
      });
}

Status ClientState::fetch(const Place& place, Range range, void* into, std::uint64_t& version) {
  if (!space.lines && is_whole(place, range)) {
    // One READ, whose bytes are looked at where they are: nearly all reads end here.
    Used operation(*this, scratch_for(place, range));
    operation->transmitter = &transmitter(place);
    if (!await_marked(*operation, post_whole(*operation, place))) return Status::kHomeFailed;
    const std::byte* const scratch = operation->scratch.data();
    const Head head = Head::at(scratch + kHeadAt);
    version = head.version;
    if (version == word_at(scratch + back_at(place.length)) && head.judge(place) == Status::kDone &&
        (version & (kBusy | kDamagedBit)) == 0) [[likely]] {
      std::memcpy(into, scratch + kArrived + range.first, range.bytes);
      return Status::kDone;
    }
  }
  Used operation(*this, scratch_for(place, range));
  operation->direct = false;
  Tries tries;
  for (;;) {
    if (!post_read(*operation, place, range) || !await(*operation)) return Status::kHomeFailed;
    Status status = decode(*operation, place, range, version);
    if (status == Status::kDone) copy_part(*operation, place, range, range, into);
    if (status == Status::kAgain) status = again(tries, place, version);
    if (status != Status::kAgain) return status;
  }
}

Status ClientState::read_direct(const Place& place, dtutils::LocalBuffer into) {
  const Range range{place.first, into.length};
  std::uint64_t version = 0;
  // Of a short segment a copy takes less than three elements.
  if (space.lines || is_whole_by_size(place)) return fetch(place, range, into.address, version);
  Used operation(*this, 0);
  operation->direct = true;
  Tries tries;
  for (;;) {
    if (!post_read(*operation, place, range, &into) || !await(*operation)) {
      return Status::kHomeFailed;
    }
    Status status = decode(*operation, place, range, version);
    if (status == Status::kAgain) status = again(tries, place, version);
    if (status != Status::kAgain) return status;
  }
}

}  // namespace memory::detail
