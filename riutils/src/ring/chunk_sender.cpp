// SPDX-License-Identifier: MIT
// ChunkSender: many records by one write, or by two where bytes land in any order.
#include "riutils/detail/chunk_sender.hpp"

namespace riutils::detail {

std::byte* ChunkSender::write(std::byte* low, std::byte* high,
                              dtutils::Synchronizer* sent) noexcept {
  bool low_is_copied = false;
  const auto write_part = [&](std::byte* from, std::byte* to, dtutils::Synchronizer* tell) {
    const auto bytes = static_cast<std::uint32_t>(to - from);
    const bool copied = bytes <= inline_limit_;
    dtutils::PostOptions how(copied ? dtutils::kInlined : dtutils::kUnsignaled);
    how.sent = tell;
    if (from == low) low_is_copied = copied;
    ++writes_;
    return transmitter_->write({from, bytes, lkey_}, {remote(from), bytes, rkey_, to_.value, 0},
                               how);
  };
  // The header that the receiver waits for is the highest word; it must land last.
  std::byte* const header = high - kRingWord;
  const bool split = !in_order_ && low != header;
  if ((split && !write_part(low, header, nullptr)) ||
      !write_part(split ? header : low, high, sent)) {
    return nullptr;
  }
  if (low_is_copied) return low + kRingWord;
  to_remote_ += kRingWord;
  return low;
}

}  // namespace riutils::detail
