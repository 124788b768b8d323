// SPDX-License-Identifier: MIT
// The reference that allocators are held against: which bytes somebody still uses.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "dtutils/rdma_memory.hpp"

namespace support {

/// The counters of a queue pair whose completions the test makes.
class FakeQueuePair {
 public:
  /// One more work request is outstanding.
  dtutils::RetireTag post() { return {&retired_, issued_++}; }
  std::uint64_t outstanding() const { return issued_ - retired_.load(); }
  /// The oldest `count` outstanding work requests complete.
  void complete(std::uint64_t count) { retired_.fetch_add(count); }

 private:
  std::atomic<std::uint64_t> retired_{0};
  std::uint64_t issued_ = 0;
};

/// Remembers what was handed out, whether a handle is left, and every tag, without merging any.
class BusyMemory {
 public:
  /// False when some of these bytes are still held, or tagged and not retired.
  bool hand_out(const dtutils::RDMAMemory& memory) {
    const std::byte* begin = memory.data();
    const std::byte* end = begin + memory.size();
    auto at = pieces_.lower_bound(begin);
    if (at != pieces_.begin() && std::prev(at)->second.end > begin) --at;
    while (at != pieces_.end() && at->first < end) {
      if (at->second.busy()) return false;
      at = pieces_.erase(at);
    }
    pieces_[begin] = {end, true, {}};
    return true;
  }
  void tag(const dtutils::RDMAMemory& memory, dtutils::RetireTag tag) {
    pieces_.at(memory.data()).tags.push_back(tag);
  }
  /// Before the last handle goes.
  void give_back(const dtutils::RDMAMemory& memory) { pieces_.at(memory.data()).held = false; }

  /// Whether a piece that starts in these bytes is busy.
  bool busy(const std::byte* begin, std::size_t size) const {
    for (auto at = pieces_.lower_bound(begin); at != pieces_.end() && at->first < begin + size;
         ++at) {
      if (at->second.busy()) return true;
    }
    return false;
  }
  /// Bytes that nobody may get now.
  std::size_t busy_bytes() const {
    std::size_t bytes = 0;
    for (const auto& [begin, piece] : pieces_) {
      bytes += piece.busy() ? static_cast<std::size_t>(piece.end - begin) : 0;
    }
    return bytes;
  }

 private:
  struct Piece {
    const std::byte* end = nullptr;
    bool held = false;
    std::vector<dtutils::RetireTag> tags;

    bool busy() const {
      for (const dtutils::RetireTag& tag : tags) {
        if (tag.retired->load() <= tag.ticket) return true;
      }
      return held;
    }
  };
  std::map<const std::byte*, Piece> pieces_;
};

}  // namespace support
