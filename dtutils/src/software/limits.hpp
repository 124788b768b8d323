// SPDX-License-Identifier: MIT
// What the software devices grant, and the refusal of more.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dtutils::software {

inline constexpr std::uint32_t kMaxDepth = 1u << 15;
/// A completion queue holds the completions of two full queues.
inline constexpr std::uint32_t kMaxCompletions = 2 * kMaxDepth;
inline constexpr std::uint32_t kMaxScatterGather = 16;
inline constexpr std::uint32_t kMaxInline = 4096;
/// Bytes of one request (InfiniBand Architecture 9.3.3).
inline constexpr std::uint64_t kMaxMessage = std::uint64_t{1} << 31;

// Keys: generation << 16 | index. The lkey of a region has the top bit set, the rkey has not, so
// that one is never taken for the other.
inline constexpr std::uint32_t kMaxRegions = 1u << 16;
inline constexpr std::uint32_t kLocalKeyBit = 1u << 31;
constexpr std::uint32_t region_index(std::uint32_t key) noexcept { return key & (kMaxRegions - 1); }
/// 15 bits, never 0, so that a key is never 0 and its top bit is free for the lkey.
constexpr std::uint32_t next_generation(std::uint32_t generation) noexcept {
  return generation % 0x7fff + 1;
}

// These throw Error, which begins with the name of the device. Setup only.

/// Flags, bounds and, where `looks_at_pages`, what the pages allow.
void check_registration(std::string_view device, void* address, std::size_t length, int access,
                        bool looks_at_pages);
void check_queue_pair(std::string_view device, const ibv_qp_init_attr& attributes);
void check_completion_queue(std::string_view device, int depth);
void check_shared_receive_queue(std::string_view device, const ibv_srq_attr& asked);

}  // namespace dtutils::software
