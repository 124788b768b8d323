// SPDX-License-Identifier: MIT
// Checksums of a log, by zlib's CRC-32.
#include "log/format.hpp"

#include <zlib.h>

namespace groups::detail {
namespace {

uLong crc(uLong before, const void* bytes, std::size_t size) noexcept {
  return crc32_z(before, static_cast<const Bytef*>(bytes), size);
}

}  // namespace

std::uint32_t record_checksum(const RecordHeader& header,
                              std::span<const std::byte> bytes) noexcept {
  constexpr std::array<std::byte, 8> kZeros{};
  uLong sum = crc(0, &header.size, sizeof header - offsetof(RecordHeader, size));
  // Of no address, crc32_z answers its initial value.
  if (!bytes.empty()) sum = crc(sum, bytes.data(), bytes.size());
  return static_cast<std::uint32_t>(crc(sum, kZeros.data(), padded(bytes.size()) - bytes.size()));
}

std::uint32_t segment_checksum(const SegmentHeader& header) noexcept {
  return static_cast<std::uint32_t>(crc(0, &header, offsetof(SegmentHeader, checksum)));
}

SegmentHeader segment_header(std::uint64_t group, std::uint64_t first_sequence) noexcept {
  SegmentHeader header{kLogMagic, group, first_sequence, 0, 0};
  header.checksum = segment_checksum(header);
  return header;
}

}  // namespace groups::detail
