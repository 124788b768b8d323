// SPDX-License-Identifier: MIT
// Credit-based flow control: the receiver posts buffers, and each message takes one, however short.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cursor.hpp"
#include "link.hpp"
#include "streams/result.hpp"

namespace streams {

/// The baseline that paper 003 (section 6) compares packetized flow control with. A sender has
/// kCreditMessages; each message of data costs one, and the receiver gives them back by a message
/// once half of them have come to it. Owner thread only.
class Credits {
 public:
  explicit Credits(dtutils::ProtectionDomain& domain);

  Introduction introduction() const { return link_.introduction(FlowControl::kCredits); }
  void meet(const Introduction& peer);
  Link& link() noexcept { return link_; }
  const Link& link() const noexcept { return link_; }

  // As in Packetized.
  Result send(std::span<const iovec> buffers) noexcept;
  Result receive(std::span<const iovec> buffers) noexcept;
  Result peek(std::span<const iovec> buffers) noexcept;
  std::size_t readable() noexcept;
  std::size_t writable() noexcept;
  bool receive_ready() noexcept;
  bool send_ready() noexcept;
  void finish_sending(bool hands_over) noexcept;
  void arm() noexcept;
  bool peer_closed() const noexcept { return peer_closed_; }
  bool peer_handed_over() const noexcept { return peer_handed_over_; }
  bool say_closed() noexcept;
  bool delivered() noexcept;

 private:
  /// Immediate data of a message: its kind in the upper bits, and a number.
  enum Kind : std::uint32_t { kData = 0, kReturn = 1, kEnd = 2, kClosed = 3 };
  static constexpr unsigned kKindShift = 30;
  /// Data, the returns of credits that it can cause, the end, and the close.
  static constexpr std::uint32_t kBuffers = 2 * kCreditMessages + 2;

  /// Requests that everything but the end leaves room for, so that it leaves without another call
  /// of the program.
  static constexpr std::uint32_t kRoomForEnd = 1;

  struct Message {
    std::uint32_t buffer;
    std::uint32_t length;
  };

  void poll() noexcept;
  void poll_sends() noexcept;
  void on_message(const ibv_wc& completion) noexcept;
  void post_buffer(std::uint64_t buffer) noexcept;
  bool cannot_send() const noexcept;
  std::uint32_t usable() const noexcept;
  /// Credits, and room in the send queue, for a message of data.
  bool has_space() const noexcept { return usable() != 0 && link_.has_room(1 + kRoomForEnd); }
  /// `room`: requests of the send queue that must be free.
  bool post(dtutils::LocalBuffer from, std::uint32_t immediate, bool must_signal,
            std::uint32_t room = 1 + kRoomForEnd) noexcept;
  std::size_t copy_out(std::span<const iovec> buffers, bool take) noexcept;
  Result take(std::span<const iovec> buffers, bool keep) noexcept;

  Link link_;
  /// Messages of data given to the device, known to be sent, and told to be received by the peer.
  std::uint64_t sent_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t returned_there_ = 0;
  /// Messages that arrived and were not received completely, oldest first; bytes of the first that
  /// were received, and of all that were not.
  std::array<Message, kCreditMessages> messages_{};
  std::uint64_t arrived_ = 0;
  std::uint64_t taken_ = 0;
  std::uint32_t offset_ = 0;
  std::size_t readable_ = 0;
  /// Credits that the peer does not have back yet.
  std::uint32_t owed_ = 0;
  bool end_wanted_ = false;
  bool handed_over_ = false;
  bool end_sent_ = false;
  bool peer_ended_ = false;
  bool peer_closed_ = false;
  bool peer_reset_ = false;
  bool peer_handed_over_ = false;
};

}  // namespace streams
