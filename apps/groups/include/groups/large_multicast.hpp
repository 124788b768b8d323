// SPDX-License-Identifier: MIT
// Multicast of large messages: blocks that every member passes on, by one-sided writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "dsfabric/group.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/synchronizer.hpp"
#include "dtutils/transmitter.hpp"
#include "groups/schedule.hpp"

namespace groups {

namespace detail {
struct Cell;
struct Transfer;
}  // namespace detail

/// What a user may choose about a LargeMulticast; the same at all members.
struct LargeMulticastOptions {
  /// Bytes of a message at most.
  std::uint64_t max_message = std::uint64_t{256} << 20;
  /// Bytes of a block, the last one of a message may be shorter. Small blocks fill the pipeline
  /// sooner, large ones cost less each; 1 byte to 1 GiB.
  std::uint32_t block = 256 << 10;
  /// How blocks spread.
  Schedule schedule = Schedule::kBinomialPipeline;
};

/// What a LargeMulticast calls, inside of progress(). They may call send(), and not progress().
struct LargeMulticastUpcalls {
  /// Gives registered memory of this process for a message that the member of rank `root` has
  /// announced. What it throws leaves progress(), and the next progress() asks again. When empty,
  /// memory is taken from the allocator of the worker's zone.
  std::function<dtutils::RDMAMemory(std::uint32_t root, std::uint64_t bytes)> buffer = {};
  /// A message has arrived as a whole, in the first `bytes` bytes of that memory, which nobody
  /// writes or reads any more. What it throws leaves progress(); it is not called again for that
  /// message. Never empty.
  std::function<void(std::uint32_t root, dtutils::RDMAMemory memory, std::uint64_t bytes)> received;
};

/// RDMC (Behrens et al., DSN 2018) among the members of a Group. Any member sends messages of any
/// size up to the limit, one at a time; messages of different roots travel at the same time.
///
/// The root announces a message to all by a write. A member that has memory for it tells those who
/// will send it blocks, by a write into their memory. From then on each member passes blocks on in
/// the order of the Schedule, as soon as it has the block and the receiver is ready: a block is one
/// write and the word that tells of it another. No message and no handler takes part; all is done
/// by progress(), which everybody calls often, and which does not wait.
///
/// Failure: when a process with a member fails, the object ends at all members: what had not
/// arrived does not arrive, and progress() and send() throw PeerFailed that names the process. A
/// message may have arrived at some members and not at others; who needs one answer everywhere
/// agrees on it first (sst::Membership). Memory of messages on their way is kept until the process
/// leaves the job, because members that have not noticed may still write to it.
///
///     groups::LargeMulticast multicast(group, {}, {.received = take});
///     if (group.rank() == 0) multicast.send(file, bytes);
///     while (!done) multicast.progress();
///
/// Owner thread only: that of the group's worker.
class LargeMulticast {
 public:
  /// A collective of the members. Throws Error when an option is out of range, when members have
  /// different options (at all of them), and when there is no registered memory left; PeerFailed.
  /// Setup only. The group outlives it.
  LargeMulticast(dsfabric::Group& group, const LargeMulticastOptions& options,
                 LargeMulticastUpcalls upcalls);
  LargeMulticast(const LargeMulticast&) = delete;
  LargeMulticast& operator=(const LargeMulticast&) = delete;
  /// Not a collective. All messages have arrived everywhere (a barrier after the last one says so),
  /// or a member has failed.
  ~LargeMulticast();

  /// Begins to send the first `bytes` of `memory`, registered memory of this process, to all other
  /// members. Its bytes do not change while sending(). Throws Error when the message is longer than
  /// the limit or the memory, and while sending(); PeerFailed when a member has failed.
  void send(const dtutils::RDMAMemory& memory, std::uint64_t bytes);
  /// Whether some member may not yet have all of what was sent here.
  bool sending() const noexcept;
  /// Whether messages are on their way to or through this member, as far as it knows. False at all
  /// members at once only after a barrier.
  bool busy() const noexcept { return active_ != 0; }

  /// Takes in and passes on what it can; at most one block a message. True when it did something.
  /// Throws PeerFailed when a member has failed, what upcalls throw, and Error when an upcall gives
  /// too little memory.
  bool progress();

  /// Those it was made with.
  const LargeMulticastOptions& options() const noexcept { return options_; }

 private:
  using Transfer = detail::Transfer;

  detail::Cell& cell(std::uint32_t root, std::uint32_t peer) const noexcept;
  /// Writes a part of this member's cell at `peer`; false when it is gone.
  bool tell(std::uint32_t root, std::uint32_t peer, std::size_t offset, const void* what,
            std::uint32_t bytes, dtutils::Synchronizer* sent = nullptr) noexcept;
  void tell_buffer(const Transfer& transfer, std::uint32_t peer,
                   const dtutils::RemoteMemoryLocator& buffer);
  dtutils::Transmitter& transmitter(std::uint32_t peer) const noexcept;
  void require_members();
  /// Until the job is left, since peers may still write to it.
  void keep_memory();
  [[noreturn]] void lose(std::uint32_t peer);
  /// It broke the protocol: its process fails, and the next progress() throws.
  void accuse(std::uint32_t peer, const char* of) noexcept;
  void begin(Transfer& transfer, std::uint64_t bytes, dtutils::RDMAMemory memory);
  bool accept(Transfer& transfer);
  bool take_in(Transfer& transfer) noexcept;
  bool pass_on(Transfer& transfer);
  bool finish(Transfer& transfer);

  dsfabric::Group& group_;
  const LargeMulticastOptions options_;
  LargeMulticastUpcalls upcalls_;
  const std::uint32_t rank_;
  const std::uint32_t members_;
  dtutils::RDMAMemory cells_;
  /// By rank: those of that member.
  std::vector<dtutils::RemoteMemoryLocator> remote_cells_;
  /// By root.
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::uint32_t active_ = 0;
  std::uint32_t failures_ = 0;
  /// The member that failed, or members_.
  std::uint32_t lost_;
};

}  // namespace groups
