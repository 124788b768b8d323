// SPDX-License-Identifier: MIT
// How a ring of message slots lies in memory: the one place that knows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "dtutils/hashed_word.hpp"
#include "sst/table_limits.hpp"

namespace sst::detail {

/// The word that says that a slot is filled, and with what. Never 0.
///
///     bits 0 to 23    the number of the message, from 1, without its higher bits
///     bits 24 to 40   bytes; of a null message: the turns for which it stands
///     bit 41          it is a null message
///     bits 42 to 63   a hash of all this, and of the higher bits
///
/// The word that was there before is that of the message one round earlier, whose number differs.
/// While it is part of one and part of the other, it holds neither
/// (dtutils/hashed_word.hpp).
class SlotWord {
 public:
  /// Turns of one null message at most; also above kMaxMessage.
  static constexpr std::uint32_t kMaxCount = (1u << 17) - 1;
  static_assert(kMaxMessage <= kMaxCount);

  /// What memory holds.
  explicit constexpr SlotWord(std::uint64_t raw) noexcept : raw_(raw) {}
  /// For message `index`, from 0.
  static constexpr SlotWord of(std::uint64_t index, std::uint32_t bytes) noexcept {
    return made(index, std::uint64_t{bytes} << kNumberBits);
  }
  /// Of a null message.
  static constexpr SlotWord null(std::uint64_t index, std::uint32_t turns) noexcept {
    return made(index, kNull | std::uint64_t{turns} << kNumberBits);
  }

  /// Whether the slot holds message `index`, and not yet that of a round before.
  constexpr bool holds(std::uint64_t index) const noexcept {
    // Most looks find the message of a round before.
    return ((raw_ ^ (index + 1)) & kNumber) == 0 && dtutils::is_hashed_word(raw_, index);
  }
  constexpr bool is_null() const noexcept { return (raw_ & kNull) != 0; }
  /// Of a message.
  constexpr std::uint32_t bytes() const noexcept { return count(); }
  /// For how many turns it stands.
  constexpr std::uint32_t turns() const noexcept { return is_null() ? count() : 1; }
  constexpr std::uint64_t raw() const noexcept { return raw_; }

 private:
  static constexpr unsigned kNumberBits = 24;
  static constexpr std::uint64_t kNumber = (std::uint64_t{1} << kNumberBits) - 1;
  static constexpr std::uint64_t kNull = std::uint64_t{1} << 41;
  static constexpr SlotWord made(std::uint64_t index, std::uint64_t what) noexcept {
    return SlotWord(dtutils::hashed_word(what | ((index + 1) & kNumber), index));
  }
  constexpr std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(raw_ >> kNumberBits & kMaxCount);
  }
  std::uint64_t raw_;
};

/// A ring for messages of up to `max_message` bytes. Where the device places the bytes of a write
/// in ascending order (Device::data_in_order), a message that with its word is at most a cache line
/// has the word behind it, and one write carries both:
///
///     | message, word | message, word | ...           slots of 16, 32 or 64 bytes
///
/// Larger messages, and all on other devices (on Soft-RoCE a word was seen before its message):
///
///     | message | message | ... | word | word | ...   slots of whole lines
///
/// The words are written after the messages, by a write of their own.
struct RingFormat {
  /// Both as in MulticastOptions, checked.
  RingFormat(std::uint32_t max_message, std::uint32_t wanted_slots,
             bool writes_in_order = true) noexcept {
    const std::size_t with_word = max_message + sizeof(std::uint64_t);
    in_line = writes_in_order && with_word <= kLine;
    stride = in_line ? std::max<std::size_t>(std::bit_ceil(with_word), 16)
                     : (max_message + kLine - 1) / kLine * kLine;
    slots = wanted_slots != 0 ? wanted_slots
                              : static_cast<std::uint32_t>(std::clamp<std::size_t>(
                                    std::bit_floor(kRingBytes / stride), 2 * kMinSlots, kMaxSlots));
    word_stride = in_line ? stride : sizeof(std::uint64_t);
    first_word = in_line ? stride - sizeof(std::uint64_t) : slots * stride;
    bytes =
        (slots * (in_line ? stride : stride + sizeof(std::uint64_t)) + kLine - 1) / kLine * kLine;
  }

  /// A power of two.
  std::uint32_t slots;
  /// A message and its word are written together.
  bool in_line;
  /// From slot to slot.
  std::size_t stride;
  /// From word to word, and where the first one is.
  std::size_t word_stride;
  std::size_t first_word;
  /// Of the whole ring; a multiple of kLine.
  std::size_t bytes;

  /// Where message `index` lies, and its word.
  std::size_t slot(std::uint64_t index) const noexcept { return (index & (slots - 1)) * stride; }
  std::size_t word(std::uint64_t index) const noexcept {
    return first_word + (index & (slots - 1)) * word_stride;
  }
  /// Slots that a receiver gives back together, unless it has nothing else to do, and that a sender
  /// posts together at most.
  std::uint32_t quarter() const noexcept { return slots / 4; }
};

}  // namespace sst::detail
