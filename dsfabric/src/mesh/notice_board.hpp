// SPDX-License-Identifier: MIT
// Wire format: the registered places where a process and its peers write that they end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "dsfabric/ids.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/general_allocator.hpp"
#include "dtutils/limits.hpp"
#include "mesh/connections.hpp"

namespace dsfabric {

/// What a process tells a peer about its own end. It writes `reason` first, then `state`.
struct alignas(dtutils::kCacheLine) EndNotice {
  static constexpr std::uint64_t kLeft = 1;
  static constexpr std::uint64_t kFailed = 2;

  std::uint64_t state;
  /// Cut off where it is too long; ends with a zero, or with the field.
  char reason[248];

  void set(std::uint64_t its_state, std::string_view why) noexcept {
    why.copy(reason, sizeof reason);
    state = its_state;
  }
  std::string_view why() const noexcept { return {reason, strnlen(reason, sizeof reason)}; }
};
static_assert(sizeof(EndNotice) == 256 && offsetof(EndNotice, reason) == 8);

/// A place for each peer that this process has connected with, until it is gone. Any thread (takes
/// a lock, which nobody holds while he posts), where nothing else is said.
class NoticeBoard {
 public:
  /// What a place holds: a notice that the peer writes, and those that are written to the peer, of
  /// the end of this process and of the peer's, for this process.
  enum Notice : std::size_t { kHeard, kOwnEnd, kParting, kNotices };

  /// The places are from `memory`. Setup only.
  NoticeBoard(dtutils::GeneralAllocator& memory, Connections& connections) noexcept
      : memory_(memory), connections_(connections) {}
  NoticeBoard(const NoticeBoard&) = delete;
  NoticeBoard& operator=(const NoticeBoard&) = delete;

  /// Makes the place of a peer that has none, and says where it is. Throws Error. One at a time;
  /// setup only.
  dtutils::RemoteMemoryLocator make(ProcessId peer) {
    auto place = std::make_shared<Place>();
    place->memory = memory_.allocate(kNotices * sizeof(EndNotice));
    std::memset(place->memory.data(), 0, kNotices * sizeof(EndNotice));
    const dtutils::RemoteMemoryLocator where = place->memory.remote();
    const std::scoped_lock lock(mutex_);
    places_[peer] = std::move(place);
    return where;
  }
  /// Where the peer looks: known before its Transmitters are handed out. Setup only.
  void set_peer(ProcessId peer, const dtutils::RemoteMemoryLocator& where) noexcept {
    if (const auto place = find(peer)) place->theirs = where;
  }
  /// Nothing comes from that peer any more, nor goes to it, until it is connected with again.
  void give_back(ProcessId peer) noexcept {
    const std::scoped_lock lock(mutex_);
    places_.erase(peer);
  }

  /// What the peer has told; empty: nothing.
  std::optional<EndNotice> heard(ProcessId of) const noexcept {
    const auto place = find(of);
    if (place == nullptr) return {};
    const std::uint64_t state = dtutils::load_device_word(&place->at(kHeard)->state);
    if (state == 0) return {};
    std::optional<EndNotice> notice(*place->at(kHeard));
    notice->state = state;
    return notice;
  }
  /// Tells a peer that is connected. False: it is not, or its connection is broken. Each kind of
  /// notice by one thread at a time.
  bool tell(ThreadContext& context, ProcessId to, Notice kind, std::uint64_t state,
            std::string_view reason) noexcept {
    constexpr std::size_t kReason = offsetof(EndNotice, reason);
    const HeldTransmitter out = connections_.try_hold(context, to);
    const auto place = find(to);
    if (!out || place == nullptr) return false;
    place->at(kind)->set(state, reason);
    const auto write = [&](std::size_t offset, std::uint32_t length) {
      const unsigned flags =
          length <= out->queue_pair().max_inline() ? dtutils::kInlined : dtutils::kUnsignaled;
      return out->write(place->memory.local(kind * sizeof(EndNotice) + offset, length),
                        place->theirs.part(offset, length), flags);
    };
    // Two writes, because the bytes of one may arrive in any order.
    return write(kReason, sizeof(EndNotice::reason)) && write(0, sizeof(EndNotice::state));
  }

 private:
  struct Place {
    dtutils::RDMAMemory memory;
    dtutils::RemoteMemoryLocator theirs;

    EndNotice* at(Notice kind) const noexcept {
      return reinterpret_cast<EndNotice*>(memory.data()) + kind;
    }
  };
  /// Shared, because the place may be given back while somebody looks at it.
  std::shared_ptr<Place> find(ProcessId peer) const noexcept {
    const std::scoped_lock lock(mutex_);
    const auto place = places_.find(peer);
    return place != places_.end() ? place->second : nullptr;
  }

  dtutils::GeneralAllocator& memory_;
  Connections& connections_;
  mutable std::mutex mutex_;
  std::map<ProcessId, std::shared_ptr<Place>> places_;
};

}  // namespace dsfabric
