// SPDX-License-Identifier: MIT
// The way home of a result: one inline write where it fits, a message where it does not.
#include <algorithm>
#include <array>
#include <cstring>

#include "dsfabric/calls.hpp"
#include "dsfabric/send_channel.hpp"

namespace dsfabric::detail {
namespace {

using dtutils::LocalBuffer;
using dtutils::Synchronizer;

/// Value and word in one write; the device says whether that is in order.
bool write_together(dtutils::Transmitter& peer, const ReturnAddress& to, const void* value,
                    std::uint32_t bytes) noexcept {
  std::array<std::byte, 1024> joined;
  const std::uint32_t total = to.word_offset + sizeof(Synchronizer::kDoneWord);
  if (total > std::min<std::size_t>(peer.queue_pair().max_inline(), joined.size())) return false;
  if (bytes != 0) std::memcpy(joined.data(), value, bytes);
  std::memcpy(joined.data() + to.word_offset, &Synchronizer::kDoneWord, 8);
  if (bytes == 0 ||
      peer.queue_pair().device().data_in_order(peer.queue_pair().raw(), IBV_WR_RDMA_WRITE)) {
    return peer.write(LocalBuffer{joined.data(), total, 0}, to.slot.part(0, total),
                      dtutils::kInlined);
  }
  // Two writes of one queue pair arrive in the order of their posts.
  return peer.write(LocalBuffer{joined.data(), bytes, 0}, to.slot.part(0, bytes),
                    dtutils::kInlined) &&
         peer.write(LocalBuffer{joined.data() + to.word_offset, 8, 0},
                    to.slot.part(to.word_offset, 8), dtutils::kInlined);
}

/// Runs at home: puts the bytes where they belong, then tells the waiter.
struct Arrival {
  std::uint64_t target;
  std::uint64_t word;
  std::uint32_t failed;

  void operator()(CallContext&, const std::byte* value, std::uint32_t bytes) const noexcept {
    std::memcpy(reinterpret_cast<void*>(target), value, bytes);
    auto* synchronizer = std::launder(reinterpret_cast<Synchronizer*>(word));
    failed != 0 ? synchronizer->fail() : synchronizer->decrement();
  }
};

bool send_arrival(CallContext& call, const Arrival& arrival, const void* value,
                  std::uint32_t bytes) {
  SendChannel channel(call.fabric);
  return channel.call_buffer(ThreadId::service_of(call.source.process), arrival,
                             std::span(static_cast<const std::byte*>(value), bytes));
}

}  // namespace

void send_return(CallContext& call, const ReturnAddress& to, const void* value,
                 std::uint32_t bytes) noexcept {
  const ProcessId home{call.source.process};
  try {
    dtutils::Transmitter& peer = call.fabric.transmitter(home);
    call.fabric.make_room(peer);
    if (write_together(peer, to, value, bytes) || peer.broken()) return;
    const std::uint64_t at = to.slot.address;
    // When the caller is gone, nobody is left to tell.
    [[maybe_unused]] const bool sent =
        send_arrival(call, {at, at + to.word_offset, 0}, value, bytes);
  } catch (const std::exception& error) {
    send_exception(call, to, error.what());
  }
}

void send_exception(CallContext& call, const ReturnAddress& to, const char* text) noexcept {
  CallFailure failure;
  failure.thrown = true;
  std::strncpy(failure.text.data(), text, failure.text.size() - 1);
  const std::uint64_t at = to.slot.address;
  try {
    [[maybe_unused]] const bool sent = send_arrival(
        call, {at + to.failure_offset, at + to.word_offset, 1}, &failure, sizeof failure);
  } catch (const std::exception&) {
    // The peer is gone, or this process has no memory left: the caller learns it by failure.
  }
}

}  // namespace dsfabric::detail
