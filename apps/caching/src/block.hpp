// SPDX-License-Identifier: MIT
// A document in its block: writing it, ending it, and telling whether what was read is one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "caching/document.hpp"
#include "checksum.hpp"
#include "local_cache.hpp"
#include "wire.hpp"

namespace caching::detail {

inline Time expires_of(const Fields& fields) noexcept {
  return Time(std::chrono::duration_cast<Time::duration>(std::chrono::nanoseconds(fields.expires)));
}

/// A view of a block in memory of this process. What may be called when, `front` and `back`:
/// wire.hpp.
class Block {
 public:
  explicit Block(const std::byte* block) noexcept : at_(const_cast<std::byte*>(block)) {}

  const Fields& fields() const noexcept {
    return *reinterpret_cast<const Fields*>(at_ + kFieldsAt);
  }
  std::string_view key() const noexcept { return text(0, fields().key_bytes); }
  std::string_view variant() const noexcept {
    return text(fields().key_bytes, fields().variant_bytes);
  }
  std::string_view validator() const noexcept {
    return text(std::uint64_t{fields().key_bytes} + fields().variant_bytes,
                fields().validator_bytes);
  }
  std::string_view metadata() const noexcept {
    return text(
        std::uint64_t{fields().key_bytes} + fields().variant_bytes + fields().validator_bytes,
        fields().metadata_bytes);
  }
  std::span<const std::byte> body() const noexcept {
    return {at_ + body_at(fields()), fields().body_bytes};
  }

  /// Where that word is.
  std::uint64_t* front() const noexcept { return reinterpret_cast<std::uint64_t*>(at_ + kFrontAt); }

  /// Bytes that a document takes in a block.
  static std::uint64_t bytes_for(const Name& name, const Attributes& attributes,
                                 std::uint64_t body) noexcept {
    Fields fields{};
    fill(fields, name, attributes, body, 0);
    return bytes_of(fields);
  }
  /// Writes all but `front`, `back` and `entry`.
  void write(const Name& name, const Attributes& attributes, std::span<const std::byte> body,
             std::uint64_t ticket) noexcept {
    Fields fields{};
    fill(fields, name, attributes, body.size(), ticket);
    std::byte* to = at_ + kPayloadAt;
    for (const std::string_view part :
         {name.key, name.variant, attributes.validator, attributes.metadata}) {
      if (!part.empty()) std::memcpy(to, part.data(), part.size());
      to += part.size();
    }
    std::byte* const body_to = at_ + body_at(fields);
    std::memset(to, 0, static_cast<std::size_t>(body_to - to));
    if (!body.empty()) std::memcpy(body_to, body.data(), body.size());
    std::memcpy(at_ + kFieldsAt, &fields, sizeof fields);
    const std::uint64_t sum = this->sum();
    std::memcpy(at_ + kFieldsAt, &sum, sizeof sum);
  }
  /// From now on neighbours find it whole.
  void begin(std::uint64_t number, std::uint32_t entry) noexcept {
    std::memcpy(at_ + kFieldsAt + offsetof(Fields, entry), &entry, sizeof entry);
    word(back_at(fields())).store(number, std::memory_order_release);
    // Release: behind all else. It pairs with the device that reads lines in order.
    word(kFrontAt).store(number, std::memory_order_release);
  }
  /// From now on neighbours find nothing. Sequentially consistent: before all that is written into
  /// the block later.
  void end() noexcept {
    word(back_at(fields())).exchange(0, std::memory_order_seq_cst);
    clear_front();
  }
  void clear_front() noexcept { word(kFrontAt).exchange(0, std::memory_order_seq_cst); }

  /// Whether what was read from a neighbour, `bytes` from the beginning of the block on and with
  /// `front` in front, is a document of that name, whole.
  bool is_whole(std::uint64_t bytes, std::uint64_t front, const Name& name,
                bool by_checksum) const noexcept {
    const Fields& its = fields();
    if (front == 0 || !fits(bytes)) return false;
    std::uint64_t found = 0;
    std::memcpy(&found, at_ + back_at(its), sizeof found);
    return found == front && its.name_hash == name.hash && key() == name.key &&
           variant() == name.variant && (!by_checksum || its.checksum == sum());
  }
  /// Whether `bytes` from the beginning of the block on hold a document that nobody changes now.
  bool is_sound(std::uint64_t bytes) const noexcept {
    return fits(bytes) && fields().checksum == sum();
  }
  std::uint64_t sum() const noexcept {
    return checksum(at_ + kSummedFrom, body_at(fields()) + fields().body_bytes - kSummedFrom);
  }

 private:
  bool fits(std::uint64_t bytes) const noexcept {
    return fields().body_bytes <= bytes && back_at(fields()) + sizeof(std::uint64_t) <= bytes;
  }
  static void fill(Fields& fields, const Name& name, const Attributes& attributes,
                   std::uint64_t body, std::uint64_t ticket) noexcept {
    fields.ticket = ticket;
    fields.name_hash = name.hash;
    fields.expires =
        std::chrono::duration_cast<std::chrono::nanoseconds>(attributes.expires.time_since_epoch())
            .count();
    fields.body_bytes = body;
    fields.key_bytes = static_cast<std::uint32_t>(name.key.size());
    fields.variant_bytes = static_cast<std::uint32_t>(name.variant.size());
    fields.validator_bytes = static_cast<std::uint32_t>(attributes.validator.size());
    fields.metadata_bytes = static_cast<std::uint32_t>(attributes.metadata.size());
  }
  std::string_view text(std::uint64_t from, std::uint64_t bytes) const noexcept {
    return {reinterpret_cast<const char*>(at_ + kPayloadAt + from), bytes};
  }
  std::atomic_ref<std::uint64_t> word(std::uint64_t from) const noexcept {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at_ + from));
  }

  std::byte* at_;
};

}  // namespace caching::detail
