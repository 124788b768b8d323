// SPDX-License-Identifier: MIT
// Plain segments: one-sided operations, with a look at the generation behind them.
#include <cstring>

#include "client_state.hpp"

namespace memory::detail {

bool ClientState::post_head(Operation& operation, const Place& place) noexcept {
  operation.arm();
  return transmitter(place).read(operation.scratch.local(0, kHeadBytes),
                                 at(place, kHeadAt, kHeadBytes), operation.arrived);
}

bool ClientState::post_plain_read(Operation& operation, const Place& place, std::uint64_t bytes) {
  operation.transmitter = &transmitter(place);
  const auto length = static_cast<std::uint32_t>(bytes);
  return operation.transmitter->read(operation.scratch.local(kPlainData, length),
                                     at(place, kHeader + place.first, bytes)) &&
         post_head(operation, place);
}

bool ClientState::post_plain_write(Operation& operation, const Place& place, std::uint64_t bytes) {
  operation.transmitter = &transmitter(place);
  const auto length = static_cast<std::uint32_t>(bytes);
  return operation.transmitter->write(operation.scratch.local(kPlainData, length),
                                      at(place, kHeader + place.first, bytes)) &&
         post_head(operation, place);
}

bool ClientState::post_plain_atomic(Operation& operation, const Place& place, bool compare,
                                    std::uint64_t compare_or_add, std::uint64_t swap) {
  dtutils::Transmitter& to = *(operation.transmitter = &transmitter(place));
  const auto before = operation.scratch.local(kPlainData, kWord);
  const auto where = at(place, kHeader + place.first, kWord);
  const bool posted = compare ? to.compare_and_swap(before, where, compare_or_add, swap)
                              : to.fetch_and_add(before, where, compare_or_add);
  return posted && post_head(operation, place);
}

Status ClientState::judge_plain(const Operation& operation, const Place& place) noexcept {
  return Head::at(operation.scratch.data()).judge(place);
}

Status ClientState::read_plain(const Place& place, void* into, std::uint64_t bytes) {
  Used operation(*this, kPlainData + bytes);
  if (!post_plain_read(*operation, place, bytes) || !await(*operation)) return Status::kHomeFailed;
  const Status status = judge_plain(*operation, place);
  if (status == Status::kDone) std::memcpy(into, operation->scratch.data() + kPlainData, bytes);
  return status;
}

Status ClientState::read_plain_direct(const Place& place, dtutils::LocalBuffer into) {
  Used operation(*this, 0);
  operation->transmitter = &transmitter(place);
  if (!operation->transmitter->read(into, at(place, kHeader + place.first, into.length)) ||
      !post_head(*operation, place) || !await(*operation)) {
    return Status::kHomeFailed;
  }
  return judge_plain(*operation, place);
}

Status ClientState::write_plain(const Place& place, const void* from, std::uint64_t bytes) {
  Used operation(*this, kPlainData + bytes);
  std::memcpy(operation->scratch.data() + kPlainData, from, bytes);
  if (!post_plain_write(*operation, place, bytes) || !await(*operation)) {
    return Status::kHomeFailed;
  }
  return judge_plain(*operation, place);
}

Status ClientState::atomic_plain(const Place& place, bool compare, std::uint64_t compare_or_add,
                                 std::uint64_t swap, std::uint64_t& before) {
  Used operation(*this, kPlainData + kWord);
  if (!post_plain_atomic(*operation, place, compare, compare_or_add, swap) || !await(*operation)) {
    return Status::kHomeFailed;
  }
  std::memcpy(&before, operation->scratch.data() + kPlainData, sizeof before);
  return judge_plain(*operation, place);
}

}  // namespace memory::detail
