// SPDX-License-Identifier: MIT
// READs whose end is seen in the memory that they fill, so that they need no completion.
#pragma once

#include <cstdint>

#include "dtutils/detail/work_request.hpp"
#include "dtutils/device.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/synchronizer.hpp"
#include "dtutils/transmitter.hpp"

namespace dtutils {

// The last word of the memory that a READ fills gets a mark before the post; when another value
// stands there, all bytes have arrived. A completion of the shm device costs more than a READ of a
// few cache lines: six locked instructions there and three in the Transmitter, beside two of an
// unsignaled post. A READ that brings the mark itself is found by a completion, so it is never
// taken for one that is under way.
//
// Right only where all of this holds:
//  - DeviceInfo::reads_in_order, and the far side is memory of an allocator;
//  - the two ranges lie alike in their cache lines;
//  - the range that is filled ends with a word: 8 bytes at a multiple of 8.
// BlockingReader asks the device for the first of them; where another one does not hold, use
// Transmitter::read. Threads: as the posts of Transmitter, wait-free.

/// How a marked READ stands when its post has returned.
enum class Arrival : std::uint8_t {
  /// All bytes are there, and the device is done with the memory.
  kHere,
  /// They are not, or end with the mark. A post behind it with a Synchronizer tells: await_marked,
  /// or any other.
  kUnderWay,
  /// The Transmitter is broken.
  kBroken,
};

/// What stands at the end of the memory before the bytes arrive: no number that programs choose.
inline constexpr std::uint64_t kReadMark = 0xa1c3'6e0b'94d7'582f;

/// Posts a READ of one or several elements, which keeps the rules above; as Transmitter::post.
[[nodiscard]] inline Arrival post_marked_read(Transmitter& from, ibv_send_wr& request) noexcept {
  const ibv_sge& last = request.sg_list[request.num_sge - 1];
  auto* const word = reinterpret_cast<std::uint64_t*>(last.addr + last.length) - 1;
  store_device_word(word, kReadMark);
  if (!from.post(request)) [[unlikely]]
    return Arrival::kBroken;
  return load_device_word(word) != kReadMark ? Arrival::kHere : Arrival::kUnderWay;
}
/// The same of one element, as Transmitter::read. `into` is not empty.
[[nodiscard]] inline Arrival read_marked(Transmitter& transmitter, LocalBuffer into,
                                         const RemoteMemoryLocator& from) noexcept {
  return post_marked_read(transmitter, detail::WorkRequest(IBV_WR_RDMA_READ, into).at(from).raw());
}

/// Decrements `arrived` when all that was posted before is done; as a post, false only when broken.
[[nodiscard]] inline bool await_marked(Transmitter& from, Synchronizer& arrived) noexcept {
  return from.write(LocalBuffer{}, {}, PostOptions(arrived));
}

/// As Transmitter::blocking_read, of memory that keeps the rules above.
[[nodiscard]] inline bool blocking_read_marked(Transmitter& transmitter, LocalBuffer into,
                                               const RemoteMemoryLocator& from) noexcept {
  const Arrival arrival = read_marked(transmitter, into, from);
  if (arrival != Arrival::kUnderWay) [[likely]]
    return arrival == Arrival::kHere;
  Synchronizer arrived(1);
  return await_marked(transmitter, arrived) &&
         transmitter.wait(arrived) == Synchronizer::Outcome::kDone;
}

/// Blocking READs in the cheaper way that the device allows: marked where
/// DeviceInfo::reads_in_order, else by a completion. The memory keeps the other rules above on
/// every device.
class BlockingReader {
 public:
  /// `transmitter` outlives it. Setup only.
  explicit BlockingReader(Transmitter& transmitter) noexcept
      : transmitter_(transmitter),
        marked_(transmitter.queue_pair().device().info().reads_in_order) {}

  /// As Transmitter::blocking_read. Any thread that may use the Transmitter.
  [[nodiscard]] bool read(LocalBuffer into, const RemoteMemoryLocator& from) const noexcept {
    return marked_ ? blocking_read_marked(transmitter_, into, from)
                   : transmitter_.blocking_read(into, from);
  }

 private:
  Transmitter& transmitter_;
  const bool marked_;
};

}  // namespace dtutils
