// SPDX-License-Identifier: MIT
// What a flow control that stands on a packetized stream needs of it.
#include "cursor.hpp"
#include "packetized.hpp"

namespace streams {

bool Packetized::send_whole(std::span<const std::byte> bytes) noexcept {
  // The first piece, the word about it and a bell, before the second one.
  constexpr std::uint32_t kRoom = kRoomToSend + kRoomToFinish;
  look_at_sent();
  read_feedback();
  if (cannot_send()) return false;
  ++sends_;
  const iovec buffer{const_cast<std::byte*>(bytes.data()), bytes.size()};
  Cursor cursor({&buffer, 1});
  if (may_pack(bytes.size())) {
    pack(cursor, bytes.size());
    publish_packed();
    read_feedback();
    if (!may_pack(0)) send_packed();
    return true;
  }
  if (!write_packed()) return false;
  if (may_begin_larger_ring()) begin_larger_ring();
  const auto fits = [&] {
    return bytes.size() <= space() && link_.has_room(kRoom) &&
           (bytes.size() <= direct_ || bytes.size() <= staging_space());
  };
  if (!fits()) {
    poll();
    read_feedback();
    if (!fits() || cannot_send()) return false;
  }
  if (bytes.size() > direct_) {
    pack(cursor, bytes.size());
  } else if (write(cursor, bytes.size()) != bytes.size()) {
    return false;  // The link is broken.
  }
  send_packed();
  return true;
}

void Packetized::wake_peer() noexcept {
  dtutils::Backoff backoff;
  while (!link_.has_room(1) && !link_.broken()) wait_a_bit(backoff);
  if (!link_.broken()) ring_bell(false);
}

}  // namespace streams
