// SPDX-License-Identifier: MIT
// Checksums of a log, by CRC-32.
#include "log/format.hpp"

#include "log/crc32.hpp"

namespace groups::detail {
namespace {

std::uint32_t crc(std::uint32_t before, const void* bytes, std::size_t size) noexcept {
  return extend_crc32(before, {static_cast<const std::byte*>(bytes), size});
}

}  // namespace

std::uint32_t record_checksum(const RecordHeader& header,
                              std::span<const std::byte> bytes) noexcept {
  constexpr std::array<std::byte, 8> kZeros{};
  const std::uint32_t head = crc(0, &header.size, sizeof header - offsetof(RecordHeader, size));
  return crc(extend_crc32(head, bytes), kZeros.data(), padded(bytes.size()) - bytes.size());
}

std::uint32_t segment_checksum(const SegmentHeader& header) noexcept {
  return crc(0, &header, offsetof(SegmentHeader, checksum));
}

SegmentHeader segment_header(std::uint64_t group, std::uint64_t first_sequence) noexcept {
  SegmentHeader header{kLogMagic, group, first_sequence, 0, 0};
  header.checksum = segment_checksum(header);
  return header;
}

}  // namespace groups::detail
