// SPDX-License-Identifier: MIT
// RingSender: few writes for many messages.
#include "sst/detail/ring_sender.hpp"

#include <algorithm>

namespace sst::detail {

RingSender::RingSender(const RingFormat& format, std::byte* ring, std::uint32_t lkey,
                       std::uint32_t max_inline) noexcept
    : format_(format),
      ring_(ring),
      lkey_(lkey),
      max_inline_(max_inline),
      batch_(static_cast<std::uint32_t>(
          std::clamp<std::size_t>(kBatchBytes / format.stride, 1, format.quarter()))),
      limit_(format.slots) {}

void RingSender::post_all() noexcept {
  const std::uint64_t first = posted_;
  posted_ = next_;
  // At most a quarter of the ring, so it comes to its end once at most.
  const std::uint64_t end = std::min(posted_, (first | (format_.slots - 1)) + 1);
  for (const Target& to : targets_) {
    post_run(to, first, end);
    if (end != posted_) post_run(to, end, posted_);
  }
}

void RingSender::post_run(const Target& to, std::uint64_t first,
                          std::uint64_t last) const noexcept {
  if (!format_.in_line) post_messages(to, first, last);
  // In a line the words lie with the messages.
  const std::size_t begin = format_.in_line ? format_.slot(first) : format_.word(first);
  write(to, begin, format_.word(last - 1) + sizeof(std::uint64_t));
}

void RingSender::post_messages(const Target& to, std::uint64_t first,
                               std::uint64_t last) const noexcept {
  std::size_t begin = format_.slot(first);
  std::size_t end = begin;
  for (std::uint64_t index = first; index < last; ++index) {
    const SlotWord word(*word_at(index));
    if (word.is_null()) continue;
    const std::size_t slot = format_.slot(index);
    if (slot - end > kMaxGap) {
      write(to, begin, end);
      begin = slot;
    }
    end = slot + word.bytes();
  }
  write(to, begin, end);
}

void RingSender::write(const Target& to, std::size_t begin, std::size_t end) const noexcept {
  if (begin == end) return;
  const auto length = static_cast<std::uint32_t>(end - begin);
  // When it is broken the fabric finds out why, and the table calls the member failed.
  (void)to.transmitter->write({ring_ + begin, length, lkey_},
                              {to.address + begin, length, to.rkey, 0, 0},
                              length <= max_inline_ ? dtutils::kInlined : dtutils::kUnsignaled);
}

}  // namespace sst::detail
