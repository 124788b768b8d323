// SPDX-License-Identifier: MIT
// The way home of a result: RDMA writes into the slot, inline where it fits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "calls/held.hpp"
#include "dsfabric/detail/call_wrappers.hpp"
#include "dsfabric/detail/inside.hpp"
#include "dsfabric/send_space.hpp"
#include "failure/pending_table.hpp"
#include "job/job_limits.hpp"

namespace dsfabric::detail {
namespace {

using dtutils::LocalBuffer;
using dtutils::Synchronizer;
using dtutils::Transmitter;

/// One operation, which failed.
constexpr std::uint64_t kFailedWord = std::uint64_t{1} << 32;

bool write_inline(Transmitter& peer, void* bytes, std::uint32_t length,
                  const dtutils::RemoteMemoryLocator& to) noexcept {
  return peer.write(LocalBuffer{bytes, length, 0}, to, dtutils::kInlined);
}

bool write_word(Transmitter& peer, std::uint64_t value,
                const dtutils::RemoteMemoryLocator& to) noexcept {
  return write_inline(peer, &value, sizeof value, to);
}

dtutils::RemoteMemoryLocator place(ProcessId home, const ReturnAddress& to, std::uint64_t offset,
                                   std::uint64_t bytes) noexcept {
  return {to.address + offset, bytes, to.rkey, home.value, 0};
}

/// A result for this process itself goes through no device: `deliver(word)` writes it and ends the
/// word, unless nobody waits any more because this process has failed.
template <class Deliver>
void deliver_here(Fabric& fabric, const ReturnAddress& to, Deliver&& deliver) noexcept {
  // What this thread has written to its own process comes first, as it would on a queue pair.
  Transmitter& out = fabric.transmitter(fabric.process());
  if (!out.idle()) (void)out.flush();
  Inside::pending(fabric).complete(to.pending, fabric.process(), deliver);
}

/// Value and word in one write, where the device keeps the order of its bytes. False: not done.
bool write_together(Transmitter& peer, ProcessId home, const ReturnAddress& to,
                    std::uint32_t word_offset, const void* value, std::uint32_t bytes) noexcept {
  std::array<std::byte, kInlineMessage> joined;
  const std::uint32_t total = word_offset + sizeof(Synchronizer::kDoneWord);
  if (total > std::min<std::size_t>(peer.queue_pair().max_inline(), joined.size()) ||
      !peer.queue_pair().device().data_in_order(peer.queue_pair().raw(), IBV_WR_RDMA_WRITE)) {
    return false;
  }
  std::memcpy(joined.data(), value, bytes);
  std::memset(joined.data() + bytes, 0, word_offset - bytes);
  std::memcpy(joined.data() + word_offset, &Synchronizer::kDoneWord, 8);
  return write_inline(peer, joined.data(), total, place(home, to, 0, total));
}

bool write_value(Fabric& fabric, Transmitter& peer, const dtutils::RemoteMemoryLocator& to,
                 const void* value, std::uint32_t bytes) {
  if (bytes <= peer.queue_pair().max_inline()) {
    return write_inline(peer, const_cast<void*>(value), bytes, to.part(0, bytes));
  }
  dtutils::RDMAMemory memory = fabric.general_allocator().allocate(bytes);
  std::memcpy(memory.data(), value, bytes);
  const bool posted = peer.write(memory.local(0, bytes), to.part(0, bytes));
  return peer.recycle(memory) && posted;
}

}  // namespace

void send_word(Fabric& fabric, ProcessId home, const dtutils::RemoteMemoryLocator& word,
               bool failed) noexcept {
  // When the peer is gone, nobody is left to tell.
  (void)write_word(*hold(fabric, home), failed ? kFailedWord : Synchronizer::kDoneWord, word);
}

void send_return(Fabric& fabric, ProcessId home, const ReturnAddress& to, std::uint32_t word_offset,
                 const void* value, std::uint32_t bytes) noexcept {
  try {
    if (home == fabric.process()) {
      return deliver_here(fabric, to, [&](Synchronizer& word) {
        if (bytes != 0) std::memcpy(reinterpret_cast<void*>(to.address), value, bytes);
        word.decrement();
      });
    }
    const HeldTransmitter held = hold(fabric, home);
    Transmitter& peer = *held;
    fabric.make_room(peer);
    // Two writes of one queue pair arrive in the order of their posts.
    if (bytes != 0 && (write_together(peer, home, to, word_offset, value, bytes) ||
                       !write_value(fabric, peer, place(home, to, 0, bytes), value, bytes))) {
      return;
    }
    (void)write_word(peer, Synchronizer::kDoneWord, place(home, to, word_offset, 8));
  } catch (const std::exception& error) {
    send_exception(fabric, home, to, word_offset, error.what());
  }
}

void send_exception(Fabric& fabric, ProcessId home, const ReturnAddress& to,
                    std::uint32_t word_offset, const char* text) noexcept {
  detail::CallFailure failure;
  failure.thrown = true;
  std::strncpy(failure.text.data(), text, failure.text.size() - 1);
  if (home == fabric.process()) {
    return deliver_here(fabric, to, [&](Synchronizer& word) {
      std::memcpy(reinterpret_cast<std::byte*>(&word) + sizeof word, &failure, sizeof failure);
      word.fail();
    });
  }
  const HeldTransmitter held = hold(fabric, home);
  Transmitter& peer = *held;
  const auto where = place(home, to, failure_offset(word_offset), sizeof failure);
  if (write_inline(peer, &failure, sizeof failure, where)) {
    (void)write_word(peer, kFailedWord, place(home, to, word_offset, 8));
  }
}

void throw_large_result(std::uint64_t bytes) {
  // Short: a caller gets as much as a CallFailure holds.
  throw dtutils::Error("result",
                       fmt::format("its {} bytes are more than {}", bytes, kMaxPackedResult),
                       "answer by a call, or by call_buffer");
}

void take_result(const CallContext& call, std::uint32_t pending, std::uint32_t word_offset,
                 const std::byte* value, std::uint32_t bytes) noexcept {
  Fabric& fabric = call.fabric;
  const ProcessId from = call.source.process;
  if (pending >= kPendingSlots) {
    fabric.fail(from, "a result names a call that this process cannot have made");
    return;
  }
  // What lies in rings of a process that has failed came too late.
  if (fabric.failed(from)) return;
  Inside::pending(fabric).complete(pending, from, [&](Synchronizer& word) {
    if (bytes != 0) std::memcpy(reinterpret_cast<std::byte*>(&word) - word_offset, value, bytes);
    word.decrement();
  });
}

dtutils::RDMAMemory read_buffer(Fabric& fabric, const dtutils::RemoteMemoryLocator& from) {
  const ProcessId owner{from.process};
  if (owner.value >= fabric.processes() || from.length >> 32 != 0) {
    throw dtutils::Error("call_buffer", "the locator of its buffer makes no sense",
                         "pass registered memory of less than 4 GiB");
  }
  const auto bytes = static_cast<std::uint32_t>(from.length);
  dtutils::RDMAMemory memory = fabric.general_allocator().allocate(bytes);
  if (!hold(fabric, owner)->blocking_read(memory.local(0, bytes), from)) {
    throw PeerFailed(owner, "reading the buffer of a call", fabric.failure_reason(owner));
  }
  return memory;
}

}  // namespace dsfabric::detail
