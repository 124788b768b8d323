// SPDX-License-Identifier: MIT
// Streams of writes, made in the ways that the benches compare.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bench/dtutils/ends.hpp"

namespace link_bench {

/// All of these make `posts` writes (a number that HandSignaling::posts_for() gave), inline when
/// the size allows it, and return when all have completed. They check every answer of the device.

/// With QueuePair, signaling by hand.
void write_by_queue_pair(Ends& ends, const Slots& slots, std::uint64_t posts);
/// The same on the same queue pair with libibverbs alone. Each request gets the fields that a
/// user's next request may change: addresses, length, keys, id and flags.
void write_raw(Ends& ends, const Slots& slots, std::uint64_t posts);
/// With a Transmitter.
void write_by_exclusive(Ends& ends, const Slots& slots, std::uint64_t posts);
void write_by_shared(Ends& ends, const Slots& slots, std::uint64_t posts);

/// `posts` writes of a Transmitter, the n-th into slot_of(n), without a flush. False when broken.
template <class SlotOf>
bool transmit(Link& link, dtutils::Transmitter& transmitter, const Slots& slots,
              std::uint64_t posts, SlotOf&& slot_of) noexcept {
  const std::uint32_t size = slots.size();
  const unsigned flags = link.inline_flag(size);
  const dtutils::LocalBuffer outbox = link.from_outbox(0, size);
  const dtutils::RemoteMemoryLocator inbox = link.peer_inbox();
  for (std::uint64_t n = 0; n < posts; ++n) {
    const std::size_t offset = slots.offset(slot_of(n));
    const dtutils::LocalBuffer from{static_cast<std::byte*>(outbox.address) + offset, size,
                                    outbox.lkey};
    if (!transmitter.write(from, inbox.part(offset, size), flags)) return false;
  }
  return true;
}

/// Throws std::runtime_error that says why `transmitter` is broken.
[[noreturn]] void fail_transmitter(const dtutils::Transmitter& transmitter);

using Write = std::function<void(Ends&, const Slots&, std::uint64_t)>;

/// A variant that measures `write` in 1/s or B/s, and proves that the bytes arrived.
bench::Variant writing(const std::string& name, const EndsPtr& ends, const Slots& slots,
                       bench::Unit unit, const Write& write);

}  // namespace link_bench
