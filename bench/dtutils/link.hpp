// SPDX-License-Identifier: MIT
// The fixture of the benches: one connected queue pair in each of two processes, and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/harness/bench.hpp"
#include "dtutils/memory_region.hpp"
#include "dtutils/queue_pair.hpp"
#include "dtutils/shared_segment.hpp"

namespace link_bench {

/// Which bytes the n-th transfer of a batch moves: slot n, modulo their number, of the sender's
/// outbox to the same slot of the receiver's inbox. Small payloads have a cache line each, as
/// messages would; there are at most `most` slots, a power of two, and more than one only as long
/// as all together stay in a core's own cache.
class Slots {
 public:
  explicit Slots(std::uint32_t size, std::uint64_t max = 64) noexcept;
  std::uint32_t size() const noexcept { return size_; }
  std::uint64_t count() const noexcept { return mask_ + 1; }
  std::size_t offset(std::uint64_t n) const noexcept { return (n & mask_) * stride_; }

 private:
  std::uint32_t size_;
  std::uint64_t stride_;
  std::uint64_t mask_;
};

/// One end. Both processes make theirs at the same time, in Suite::setup(). Owner thread only.
class Link {
 public:
  /// Of the outbox and of the inbox, in bytes.
  static constexpr std::size_t kBoxSize = std::size_t{2} << 20;

  /// Opens the device and connects. Throws dtutils::Error.
  Link(bench::Channel& channel, const std::string& device_name,
       const dtutils::QueuePairOptions& options = {});

  std::byte* outbox() const noexcept { return segment.data(); }
  /// Where the peer's transfers arrive.
  std::byte* inbox() const noexcept { return segment.data() + kBoxSize; }
  /// Local sides of work requests.
  dtutils::LocalBuffer from_outbox(std::size_t offset, std::uint32_t size) const noexcept {
    return region.local(offset, size);
  }
  dtutils::LocalBuffer into_inbox(std::size_t offset, std::uint32_t size) const noexcept {
    return region.local(kBoxSize + offset, size);
  }
  /// The peer's inbox.
  const dtutils::RemoteMemoryLocator& peer_inbox() const noexcept { return peer_inbox_; }
  /// kInlined when the queue pair takes that many bytes inline.
  unsigned inline_flag(std::uint32_t size) const noexcept {
    return size <= qp.max_inline() ? dtutils::kInlined : dtutils::kUnsignaled;
  }

  /// The proof that the bytes of a batch arrived, which costs the batch nothing. The one that sends
  /// calls begin() before its clock starts: it gives the outbox other bytes than the last time; and
  /// end() after it stopped. The other one meanwhile sleeps in inspect(), then throws
  /// std::runtime_error unless `transfers` transfers have left the right bytes in its inbox.
  void begin(const Slots& slots) noexcept;
  void end(bench::Channel& channel) noexcept;
  void inspect(bench::Channel& channel, const Slots& slots, std::uint64_t transfers);

  std::unique_ptr<dtutils::Device> device;
  dtutils::ProtectionDomain pd;
  dtutils::SharedSegment segment;
  dtutils::MemoryRegion region;
  dtutils::CompletionQueue sends;
  dtutils::CompletionQueue receives;
  dtutils::QueuePair qp;
  /// The last counter of a ping-pong: of all of them, so that an old one is never taken for a new.
  std::uint64_t beats = 0;

 private:
  dtutils::RemoteMemoryLocator peer_inbox_;
  std::uint64_t batches_ = 0;
};

/// Connects this process's `pair` (a QueuePair or a Transmitter) with the other one's. Both call
/// it. Setup only.
template <class Pair>
void connect(bench::Channel& channel, Pair& pair) {
  pair.connect(channel.exchange(pair.endpoint()));
  channel.barrier();  // nobody posts before both are ready
}

/// Throws std::runtime_error that says what happened.
[[noreturn]] void fail_post(dtutils::PostResult answer);
[[noreturn]] void fail_poll(int polled, const ibv_wc& completion);

inline void require(dtutils::PostResult answer) {
  if (answer != dtutils::PostResult::kOk) [[unlikely]] {
    fail_post(answer);
  }
}

/// Spins until there is a completion. Throws when it is a failed one.
inline void await_completion(dtutils::CompletionQueue& queue) {
  ibv_wc completion;
  int polled;
  while ((polled = queue.poll({&completion, 1})) == 0) {
  }
  if (polled < 0 || completion.status != IBV_WC_SUCCESS) [[unlikely]] {
    fail_poll(polled, completion);
  }
}

}  // namespace link_bench
