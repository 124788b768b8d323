// SPDX-License-Identifier: MIT
// Wire format: one call, as it lies in a message, a chunk or a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace dsfabric::detail {

/// Records follow each other at multiples of 8 bytes:
///
///   byte  0          4       8 ...
///         | function | bytes | callable, then what travels with it | padding to 8 |
///
/// `bytes` counts the callable and what travels with it, without the padding. Numbers are in host
/// byte order; every host of a job has the same. The receiver checks both: function below the size
/// of its table, bytes at least the callable's and inside what arrived.
struct RecordHeader {
  /// Index of the function at the receiver.
  std::uint32_t function;
  /// Bytes of the callable and of what travels with it.
  std::uint32_t bytes;
};

static_assert(sizeof(RecordHeader) == 8 && alignof(RecordHeader) == 4);
static_assert(offsetof(RecordHeader, function) == 0 && offsetof(RecordHeader, bytes) == 4);
static_assert(std::is_trivially_copyable_v<RecordHeader>);

/// Records begin at multiples of so many bytes.
inline constexpr std::uint32_t kRecordAlign = 8;

/// Bytes from one record to the next.
constexpr std::uint32_t record_size(std::uint32_t payload) noexcept {
  return (static_cast<std::uint32_t>(sizeof(RecordHeader)) + payload + kRecordAlign - 1) &
         ~(kRecordAlign - 1);
}

}  // namespace dsfabric::detail
