// SPDX-License-Identifier: MIT
// Places: memory of the next worker, and operations on it.
#include "places.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/limits.hpp"

namespace hashtable::cost {
namespace {

constexpr std::uint64_t kMostTableBytes = 16 << 20;
constexpr std::uint32_t kLine = 64;

/// Places of `stride` bytes in a table; a power of two.
std::uint32_t places_of(std::uint64_t table_bytes, std::uint32_t stride) noexcept {
  const std::uint64_t places = std::min(table_bytes, kMostTableBytes) / stride;
  return static_cast<std::uint32_t>(std::bit_floor(std::max<std::uint64_t>(places, 1)));
}

}  // namespace

Places::Places(dsfabric::Thread& self, dsfabric::ThreadId to, const Subject& subject)
    : self_(self),
      to_(to),
      block_bytes_((std::clamp(subject.block_bytes, 8u, 32u << 10) + 7) / 8 * 8),
      entry_bytes_(std::clamp(subject.entry_bytes, 8u, 4096u)),
      stride_((std::max(block_bytes_, entry_bytes_ + kLine) + kLine - 1) / kLine * kLine),
      places_(places_of(subject.table_bytes, stride_)),
      memory_(
          self.fabric().general_allocator(self.zone()).allocate(std::size_t{places_} * stride_)),
      here_(self.fabric().general_allocator(self.zone()).allocate(stride_)),
      transmitter_(self.transmitter(to.process)),
      reader_(transmitter_),
      directory_(places_) {
  std::iota(directory_.begin(), directory_.end(), 0);
  std::fill_n(memory_.data(), memory_.size(), std::byte{0});
  std::fill_n(here_.data(), here_.size(), std::byte{0});
  const auto all = self.all_gather(memory_.remote());
  there_ = all[self.fabric().rank_of(to)];
}

void Places::take_lines() {
  for (std::uint64_t begin = 0; begin < std::uint64_t{places_} * stride_; begin += kLine) {
    require(transmitter_.blocking_fetch_and_add(there_.part(begin, 8), 0).has_value());
  }
}

void Places::swap(std::uint32_t word, std::uint64_t expected, std::uint64_t desired) {
  require(transmitter_.blocking_compare_and_swap(at(word, 8), expected, desired).has_value());
}

void Places::add(std::uint64_t addend) {
  require(transmitter_.blocking_fetch_and_add(at(0, 8), addend).has_value());
}

void Places::write(std::uint32_t word) {
  const bool inlined = entry_bytes_ <= transmitter_.queue_pair().max_inline();
  dtutils::Synchronizer done(1);
  require(transmitter_.write(
              here_.local(0, entry_bytes_), at(word, entry_bytes_),
              dtutils::PostOptions(done, inlined ? dtutils::kInlined : dtutils::kUnsignaled)) &&
          transmitter_.wait(done) == dtutils::Synchronizer::Outcome::kDone);
}

void Places::throw_gone() const {
  throw dsfabric::PeerFailed(to_.process, "measuring costs",
                             self_.fabric().failure_reason(to_.process));
}

}  // namespace hashtable::cost
