// SPDX-License-Identifier: MIT
// Options of a large multicast, and what is wrong with them.
#include "card.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "dtutils/error.hpp"

namespace groups::detail {
namespace {

constexpr std::uint32_t kMaxBlock = 1u << 30;
/// A block number has 32 bits, and so has the count of blocks.
constexpr std::uint64_t kMaxBlocks = std::uint64_t{1} << 31;

}  // namespace

void check(const LargeMulticastOptions& options) {
  if (options.block == 0 || options.block > kMaxBlock) {
    throw dtutils::Error(kName, fmt::format("a block of {} bytes cannot be", options.block),
                         "set LargeMulticastOptions::block to 1 byte to 1 GiB");
  }
  if (options.max_message / options.block >= kMaxBlocks) {
    throw dtutils::Error(kName,
                         fmt::format("a message of {} bytes has too many blocks of {} bytes",
                                     options.max_message, options.block),
                         "set a larger LargeMulticastOptions::block");
  }
}

void require_equal_options(const std::vector<Card>& cards) {
  const LargeMulticastOptions& first = cards.front().options;
  for (std::size_t rank = 1; rank < cards.size(); ++rank) {
    const LargeMulticastOptions& other = cards[rank].options;
    if (other.max_message == first.max_message && other.block == first.block &&
        other.schedule == first.schedule) {
      continue;
    }
    throw dtutils::Error(
        kName,
        fmt::format("members 0 and {} have different options: at most {} and {} bytes, blocks of "
                    "{} and {} bytes, {} and {}",
                    rank, first.max_message, other.max_message, first.block, other.block,
                    to_string(first.schedule), to_string(other.schedule)),
        "give all members the same LargeMulticastOptions");
  }
}

}  // namespace groups::detail
