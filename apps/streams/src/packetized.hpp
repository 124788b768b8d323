// SPDX-License-Identifier: MIT
// Packetized flow control: the sender manages the buffers of both sides, and packs bytes tightly.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "board.hpp"
#include "cursor.hpp"
#include "dtutils/wait.hpp"
#include "later_memory.hpp"
#include "link.hpp"
#include "ring.hpp"
#include "ring_budget.hpp"
#include "streams/result.hpp"
#include "writes_that_tell.hpp"

namespace streams {

// A send writes its bytes into the receiver's ring, behind those before them, and then the count of
// all bytes into the receiver's board. While only one side sends, and small pieces, it packs them
// instead: it leaves them in its staging memory, and publishes how many they are. That is right
// because one of the two always has the duty:
//
//   sender    packs bytes; publishes their number; loads `seen`. If `seen` covers all that it has
//             written: writes what is packed.
//   receiver  finds nothing new behind bytes that came with kPacking; writes `seen`; reads the
//             number published. If there are packed bytes: reads them, too.
//
// The receiver's write comes before its read (one queue pair), the sender's store before its load
// (both sequentially consistent): so the sender sees the new `seen`, or the receiver the bytes, or
// both; then the same bytes come twice to the same place of the ring, which is not used for others
// before all writes to it are done and the receiver has taken the bytes.
//
// Where the peer takes writes that tell (writes_that_tell.hpp) the last bytes bring the count with
// them, as immediate data. Who has heard by such a write that nothing is packed behind it, and that
// one more may follow, sleeps without asking: the completion of the next one wakes it.
//
// Who sleeps otherwise asks in the same way: it writes a new number into `armed`, and then reads
// what the other side has published. Later changes are told by a bell (an empty message), once a
// number.
//
// The ring grows once: packetized_grow.cpp.
//
/// Owner thread only.
class Packetized {
 public:
  /// Where bytes leave from: the memory of the program, where the device lets them, or always the
  /// staging memory, as on verbs.
  enum class Source : std::uint8_t { kAsTheDeviceLets, kStaged };

  /// `sizes`: see StreamOptions. A side that waits for space asks to be woken while there are fewer
  /// than `useful_space` bytes of it.
  Packetized(dtutils::ProtectionDomain& domain, RingSizes sizes, std::uint32_t useful_space = 1,
             Source source = Source::kAsTheDeviceLets);

  Introduction introduction() const;
  void meet(const Introduction& peer);
  Link& link() noexcept { return link_; }
  const Link& link() const noexcept { return link_; }

  /// The calls of Stream, but of `limit` bytes at most.
  Result send(std::span<const iovec> buffers, std::size_t limit = kAll) noexcept;
  Result receive(std::span<const iovec> buffers, std::size_t limit = kAll) noexcept;
  Result peek(std::span<const iovec> buffers, std::size_t limit = kAll) noexcept;
  /// Sends all of at most kLongestWhole bytes, or nothing.
  bool send_whole(std::span<const std::byte> bytes) noexcept;
  std::size_t readable() noexcept;
  std::size_t writable() noexcept;
  bool receive_ready() noexcept;
  bool send_ready() noexcept;
  void finish_sending(bool hands_over) noexcept;
  void arm() noexcept;
  bool peer_closed() const noexcept { return (flags_there_ & kClosed) != 0; }
  bool peer_handed_over() const noexcept { return is_handed_over(flags_there_); }

  // The calls of Stream of the same names, for a connection that several processes have.
  void announce_sharing(bool shared) noexcept;
  bool awaits_survivor() noexcept;
  bool has_all(std::uint64_t word) const noexcept;
  std::optional<std::uint64_t> survivor_word() const noexcept;
  std::uint64_t owner_received() const noexcept { return load(board().received); }
  std::uint64_t owner_was_sent() const noexcept;
  bool owner_was_sent_end() const noexcept;
  std::size_t copy_unreceived(std::span<const iovec> into, std::uint64_t end) const noexcept;

  /// Tells the peer that this side neither sends nor receives any more. False: again later.
  bool say_closed() noexcept;
  /// All that was sent is with the peer, or never will be.
  bool delivered() noexcept;

  // For a flow control that stands on this one.

  static constexpr std::uint32_t kLongestWhole = 256;
  bool cannot_send() const noexcept;
  /// Sends `post(id)`, one signaled request, and waits until it is done, which does not depend on
  /// the program of the peer. False: the link is broken, and the request is over.
  template <class Post>
  bool complete(Post post) noexcept {
    // What the completions of those cause must not break the link while the request is under way.
    dtutils::Backoff backoff;
    while ((asking_ || fetching_ || !link_.has_room(kRoomToSend)) && !link_.broken()) {
      wait_a_bit(backoff);
    }
    if (link_.broken()) return false;
    completing_ = true;
    if (!link_.count(post(written_ << 2 | kCompleted), dtutils::kSignaled)) {
      link_.give_up();
      return false;
    }
    while (completing_ && !link_.broken()) wait_a_bit(backoff);
    return !link_.broken();
  }
  /// Wakes the peer if it sleeps and has asked for a bell.
  void wake_peer() noexcept;
  /// This side waits for what the peer tells by wake_peer() alone: it asks before it sleeps.
  void needs_bell(bool needs) noexcept { needs_bell_ = needs; }
  /// There are bytes that arrived and were not received, although all of this stream were.
  void keep_unread(bool unread) noexcept { more_unread_ = unread; }

 private:
  enum Done : std::uint64_t { kWritten, kAsked, kFetched, kCompleted };
  static constexpr std::size_t kAll = SIZE_MAX;

  /// Requests that packed bytes, the word about them and a bell can take: at most two pieces,
  /// since both memories are powers of two, so the smaller one ends where the larger one does.
  static constexpr std::uint32_t kRoomToFinish = 4;
  /// What else is posted leaves room for that, so that the end of sending, and bytes that may not
  /// stay packed, leave without another call of the program.
  static constexpr std::uint32_t kRoomToSend = 2 * kRoomToFinish;
  /// Space that is given back, and its bell, leave room for it, too.
  static constexpr std::uint32_t kRoomToReturn = kRoomToFinish + 2;

  // packetized_send.cpp
  void read_feedback() noexcept;
  std::uint64_t written_to() const noexcept;
  std::uint64_t free_from() const noexcept;
  std::size_t space() const noexcept;
  std::size_t staging_space() const noexcept;
  std::uint32_t part_to_signal() const noexcept;
  std::size_t sendable() const noexcept;
  bool may_pack(std::size_t bytes) const noexcept;
  bool pack_at_once(std::span<const iovec> buffers, std::size_t limit) noexcept;
  void pack(Cursor& cursor, std::size_t bytes) noexcept;
  std::size_t write(Cursor& cursor, std::size_t bytes) noexcept;
  bool write_packed() noexcept;
  bool write_piece(dtutils::LocalBuffer from, std::uint64_t at, unsigned flags,
                   const std::uint32_t* immediate = nullptr) noexcept;

  // packetized_tell.cpp
  bool send_packed() noexcept;
  /// Of what is told about the bytes before `end`.
  std::uint32_t flags_behind(std::uint64_t end) const noexcept;
  bool may_tell_by_write() noexcept;
  bool write_and_tell(dtutils::LocalBuffer from, unsigned flags) noexcept;
  bool tell_sent() noexcept;
  /// Writes words into the board of the peer.
  bool post_words(void* words, std::uint32_t length, std::size_t at) noexcept;
  void note_told(std::uint32_t flags) noexcept;
  bool tell_all(std::uint32_t flag) noexcept;
  void publish() noexcept;
  void publish_packed() noexcept;
  void ring_bell(bool space_only) noexcept;
  void send_end() noexcept;

  // packetized_receive.cpp
  void poll_receives() noexcept;
  void look_at_sent() noexcept;
  void hear(std::uint64_t count, unsigned bits, std::uint32_t flags, bool by_write) noexcept;
  void look(bool keeps_bytes) noexcept;
  Result why_nothing() const noexcept;
  std::size_t copy_out(std::span<const iovec> buffers, std::size_t limit) noexcept;
  /// Bytes of the stream from `begin` on, which lie as `places` says.
  void copy_from(const Ring& places, std::uint64_t begin, std::span<std::byte> into) const noexcept;
  bool owes_space() const noexcept;
  void return_space() noexcept;
  bool tell_feedback() noexcept;
  void ask() noexcept;
  void on_answer() noexcept;
  void fetch(std::uint64_t bytes) noexcept;

  // packetized_grow.cpp
  /// Receiver.
  void offer_larger_ring() noexcept;
  std::size_t larger_behind() const noexcept {
    return kStagingAt + first_staging_ + sizes_.initial;
  }
  bool make_larger_ring() noexcept;
  bool tell_of_larger_ring() noexcept;
  /// False: the sender has written what it cannot.
  bool look_for_larger_ring() noexcept;
  /// Sender, with nothing packed.
  bool may_begin_larger_ring() const noexcept;
  void begin_larger_ring() noexcept;
  void enlarge_staging() noexcept;

  // packetized_survivor.cpp
  bool sent_to_the_dead() noexcept;

  // packetized.cpp
  void wait_a_bit(dtutils::Backoff& backoff) noexcept;
  void await_room(std::uint32_t requests) noexcept {
    link_.await_room(requests, [this] { poll_sends(); });
  }
  void poll() noexcept;
  void poll_sends() noexcept;
  bool wants_space() noexcept;
  /// The next change wakes this side without a bell.
  bool sleeps_unasked() const noexcept;
  void ask_for_bell() noexcept;
  /// The content of Feedback::armed.
  std::uint64_t arming() const noexcept { return armed_ << 1 | (wanted_space_ ? 1 : 0); }

  Board& board() const noexcept { return *reinterpret_cast<Board*>(link_.data()); }
  std::byte* staged(std::size_t offset) const noexcept;
  /// `length` bytes of the ring here, from a place on, and there.
  dtutils::LocalBuffer in_ring(std::size_t offset, std::size_t length) const noexcept;
  dtutils::RemoteMemoryLocator in_ring_there(std::size_t offset, std::size_t length) const noexcept;

  /// The memory of this side, and of the peer.
  RingSizes sizes_;
  Ring ring_;
  Ring ring_there_;
  /// Bytes of the first staging memories, which the other side may read.
  std::uint32_t first_staging_;
  std::uint32_t staging_there_ = 0;
  std::uint32_t useful_space_;
  /// Largest piece that leaves from the user's memory; 0: all bytes are packed first.
  std::uint32_t direct_ = 0;
  /// Small sends may be packed. Not in staging memory that is smaller than the ring of the peer,
  /// and carries all bytes: it is used again before the peer has taken them, which a peer that
  /// fetches packed bytes would read.
  bool packs_ = true;
  /// Written bytes of which the last is signaled at the latest.
  std::uint32_t signal_part_ = 0;
  WritesThatTell writes_;
  dtutils::ProtectionDomain& domain_;
  /// The larger ring of this side, and the staging memory for that of the peer. Before link_, so
  /// that no request is under way any more when they go.
  LaterMemory later_ring_;
  LaterMemory later_staging_;
  Link link_;
  /// The staging memory in use; its length is a power of two.
  dtutils::LocalBuffer staging_;

  // Sending. Counts of bytes since the beginning: given to send; written into the ring; told of;
  // known to be written by completions; and what the peer has taken and seen.
  std::uint64_t accepted_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t told_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t signaled_ = 0;
  std::uint64_t taken_there_ = 0;
  std::uint64_t seen_there_ = 0;
  std::uint64_t taken_word_ = 0;
  std::uint64_t seen_word_ = 0;
  /// The flags of the last count that was told, and whether they have kPacking.
  std::uint32_t told_flags_ = 0;
  bool packing_ = false;
  /// With packing_: how far bytes may be packed.
  std::uint64_t pack_until_ = 0;
  /// The peer offers a larger ring; this side has begun it, and does not know yet that the peer
  /// knows; where it is.
  bool larger_offered_there_ = false;
  bool switching_ = false;
  dtutils::RemoteMemoryLocator larger_there_{};
  /// Sends since the last bytes arrived.
  std::uint32_t sends_ = 0;
  bool end_wanted_ = false;
  bool handed_over_ = false;
  bool closed_ = false;
  bool more_unread_ = false;
  /// The connection has several processes; that of the peer has.
  bool shared_ = false;
  bool shared_there_ = false;
  /// The number of `armed` that was answered by a bell; a bell could not be posted yet.
  std::uint64_t answered_ = 0;
  bool bell_pending_ = false;

  // Receiving. Bytes in the ring; taken by the program; told to the peer as taken.
  std::uint64_t arrived_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t returned_ = 0;
  /// How often the ring was found full; how often before the larger one is offered, and whether it
  /// was; where it is, with no length before there is memory.
  std::uint64_t times_full_ = 0;
  std::uint64_t full_before_offer_ = kFullBeforeOffer;
  bool larger_offered_ = false;
  dtutils::LocalBuffer larger_{};
  RingBudget budget_;
  /// Told to the peer as known here.
  std::uint64_t seen_ = 0;
  /// The last word of the peer.
  std::uint64_t sent_word_ = 0;
  /// Bytes that the peer has told of, in how many steps, and whether the last one came by a write
  /// with immediate data; if that came without kPacking, the next one does, too, or none came yet.
  std::uint64_t heard_ = 0;
  std::uint64_t steps_ = 0;
  bool heard_by_write_;
  /// The step for which the peer was asked what it has packed.
  std::uint64_t asked_step_ = 0;
  /// The one behind which nothing was found, and since when.
  std::uint64_t empty_step_ = 0;
  std::chrono::steady_clock::time_point empty_since_{};
  std::uint32_t flags_there_ = 0;
  bool asking_ = false;
  bool fetching_ = false;
  std::uint64_t fetched_to_ = 0;
  /// The request of `complete` is under way.
  bool completing_ = false;

  // Waiting. The number in `armed`; its bell came; the peer is known to ring at the next change.
  std::uint64_t armed_ = 0;
  bool bell_came_ = true;
  bool wanted_space_ = false;
  bool needs_bell_ = false;
  /// What the last question came with.
  std::uint64_t asked_arming_ = 0;
  bool quiet_ = false;
  /// Looks until the queues are polled.
  std::uint32_t looks_ = 0;
  bool poll_always_ = false;
};

}  // namespace streams
