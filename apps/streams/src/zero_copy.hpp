// SPDX-License-Identifier: MIT
// Zero-copy flow control: the receiver reads long sends out of the sender's memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dtutils/shared_segment.hpp"
#include "offer.hpp"
#include "own_word.hpp"
#include "packetized.hpp"
#include "page_guard.hpp"
#include "region_book.hpp"
#include "streams/options.hpp"
#include "streams/result.hpp"

namespace streams {

/// A packetized stream of frames: short sends are frames of bytes, and a long one is an offer,
/// which stands at its place among them (see offer.hpp). Offers are made on devices that have
/// atomics; elsewhere all bytes are copied.
///
/// Nothing that the peer says is believed: a frame of a kind that does not exist, an offer without
/// bytes or with too many, or a word that only this side could have written breaks the stream, and
/// the device refuses memory that the peer has not registered. Owner thread only.
class ZeroCopy {
 public:
  ZeroCopy(dtutils::ProtectionDomain& domain, const StreamOptions& options);
  ZeroCopy(const ZeroCopy&) = delete;
  ZeroCopy& operator=(const ZeroCopy&) = delete;
  ~ZeroCopy();

  Introduction introduction() const;
  void meet(const Introduction& peer) { base_.meet(peer); }
  Link& link() noexcept { return base_.link(); }
  const Link& link() const noexcept { return base_.link(); }

  // As in Packetized. `send` copies.
  Result send(std::span<const iovec> buffers) noexcept;
  Result receive(std::span<const iovec> buffers) noexcept { return take(buffers, false); }
  Result peek(std::span<const iovec> buffers) noexcept { return take(buffers, true); }
  std::size_t readable() noexcept;
  std::size_t writable() noexcept;
  bool receive_ready() noexcept;
  bool send_ready() noexcept { return writable() != 0 || base_.cannot_send(); }
  void finish_sending(bool hands_over) noexcept { base_.finish_sending(hands_over); }
  void arm() noexcept {
    base_.needs_bell(offered_ != 0);
    base_.arm();
  }
  bool peer_closed() const noexcept { return base_.peer_closed(); }
  bool peer_handed_over() const noexcept { return base_.peer_handed_over(); }
  bool say_closed() noexcept;
  bool delivered() noexcept { return base_.delivered(); }

  // Offers, for calls that wait.

  /// What came of an offer.
  enum class Offering : std::uint8_t {
    /// These bytes are better copied, or cannot be sent at all.
    kCopy,
    /// Not at the moment; see offer_ready.
    kLater,
    /// The memory belongs to the stream until `conclude`.
    kMade,
    /// It is the program's, which must not unmap it until `settled`.
    kAsynchronous,
  };
  /// Offers the first of these bytes: at most kLargestOffer, or kLargestAsynchronous. `offered()`
  /// says how many. `waits`: the caller can wait for kMade to be concluded; otherwise kCopy.
  Offering offer(std::span<const std::byte> bytes, bool waits = true) noexcept;
  std::size_t offered() const noexcept { return offered_; }
  /// After kCopy: how many of them are to be copied before the rest may be offered.
  std::size_t bytes_to_copy(std::span<const std::byte> bytes) const noexcept;
  bool offer_ready() noexcept;
  /// The last offer was read, or never will be.
  bool settled() noexcept;
  /// Takes back what was not read. The bytes that were; kOk: all of them.
  Result conclude() noexcept;

 private:
  /// Of the ring, for the head of a frame of either kind and some bytes.
  static constexpr std::uint32_t kUsefulSpace = 64;

  OfferBoard& offers() const noexcept {
    return *reinterpret_cast<OfferBoard*>(base_.link().data() + kOffersAt);
  }

  // zero_copy_send.cpp
  bool is_asynchronous(std::span<const std::byte> bytes) const noexcept;
  bool guard(std::span<const std::byte> bytes) noexcept;
  OfferWord look_at_offer() noexcept;

  // zero_copy_receive.cpp
  /// kOk: there is a frame whose bytes were not all received.
  Status find_frame() noexcept;
  bool accept_head() noexcept;
  bool swap(OfferWord expected, OfferWord desired, OfferWord& found) noexcept;
  bool read(dtutils::LocalBuffer into, std::uint64_t address, std::uint32_t rkey) noexcept;
  /// Bytes of the offer that were read; 0: it is over, or the link is broken.
  std::size_t read_part(dtutils::LocalBuffer into) noexcept;
  std::size_t read_offered(std::span<const iovec> buffers, bool keep) noexcept;
  std::size_t copy_ahead(std::span<const iovec> buffers, bool keep) noexcept;
  Result take(std::span<const iovec> buffers, bool keep) noexcept;

  Packetized base_;
  /// Empty where there are no offers.
  std::optional<OwnWord> word_;
  RegionBook sending_;
  RegionBook receiving_;
  /// Where parts of an offer go that short receives and peeks ask for.
  dtutils::SharedSegment ahead_;
  dtutils::MemoryRegion ahead_region_;

  // Sending: bytes that the last frame still needs; bytes of the offer that is not concluded, how
  // many were seen to be read, and its number.
  std::uint64_t frame_left_out_ = 0;
  std::uint64_t offered_ = 0;
  std::uint64_t offer_taken_ = 0;
  std::uint32_t number_ = 0;
  // Sending asynchronously: null without; the last offer is guarded, where, and the spare memory.
  PageGuard* guard_ = nullptr;
  bool guarded_ = false;
  GuardedOffer pages_{};
  std::optional<dtutils::SharedSegment> spare_;
  std::optional<dtutils::MemoryRegion> spare_region_;

  // Receiving: the head of the next frame as far as it has come; the peer did not keep to this
  // protocol; bytes of data left in this frame;
  // the offer whose turn it is, its bytes, and how many of them were read; bytes in ahead_.
  std::array<std::byte, sizeof(Offer)> head_{};
  std::size_t head_bytes_ = 0;
  bool refused_ = false;
  std::uint64_t frame_left_in_ = 0;
  Offer offer_{};
  std::uint64_t offer_left_ = 0;
  std::uint64_t offer_read_ = 0;
  std::size_t ahead_begin_ = 0;
  std::size_t ahead_end_ = 0;
};

}  // namespace streams
