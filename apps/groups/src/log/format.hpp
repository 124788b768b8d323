// SPDX-License-Identifier: MIT
// The bytes of a log on disk. All numbers are little-endian, as on every machine with RDMA today.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace groups::detail {

/// A file of the log ("segment") is named by the sequence of its first record, with 20 digits and
/// ".log". It begins with this, and records follow without a gap:
///
///     0        8        16               24          28          32
///     | magic  | group  | first sequence | checksum  |  unused   |
struct SegmentHeader {
  std::array<char, 8> magic;
  std::uint64_t group;
  std::uint64_t first_sequence;
  /// CRC-32 of the bytes before it.
  std::uint32_t checksum;
  std::uint32_t unused;
};
static_assert(sizeof(SegmentHeader) == 32 && std::is_trivially_copyable_v<SegmentHeader>);
static_assert(offsetof(SegmentHeader, checksum) == 24);

inline constexpr std::array<char, 8> kLogMagic{'C', 'A', 'R', 'I', 'L', 'O', 'G', '1'};

/// Before each record, which is then padded with zeros to a multiple of 8:
///
///     0          4      8        16       24         32
///     | checksum | size | group  | view   | sequence | bytes ... | padding |
struct RecordHeader {
  /// CRC-32 of all that follows it, the padding too.
  std::uint32_t checksum;
  /// Of the record, without header and padding.
  std::uint32_t size;
  std::uint64_t group;
  std::uint64_t view;
  std::uint64_t sequence;
};
static_assert(sizeof(RecordHeader) == 32 && std::is_trivially_copyable_v<RecordHeader>);
static_assert(offsetof(RecordHeader, size) == sizeof(RecordHeader::checksum));

/// Bytes of a record with its padding.
constexpr std::uint64_t padded(std::uint64_t size) noexcept { return (size + 7) / 8 * 8; }

/// CRC-32 of a record as it lies in the file, `bytes` without the padding.
std::uint32_t record_checksum(const RecordHeader& header,
                              std::span<const std::byte> bytes) noexcept;
/// CRC-32 of a segment's header.
std::uint32_t segment_checksum(const SegmentHeader& header) noexcept;
SegmentHeader segment_header(std::uint64_t group, std::uint64_t first_sequence) noexcept;

}  // namespace groups::detail
