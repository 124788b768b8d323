// SPDX-License-Identifier: MIT
// The sending half of a multicast: slots to build messages in, and one write for many of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "dtutils/device_memory.hpp"
#include "dtutils/transmitter.hpp"
#include "sst/detail/ring_format.hpp"
#include "sst/member.hpp"

namespace sst::detail {

/// A message is built in this process' copy of its own ring, and written from there into the copies
/// of the others, where it has the same place. A slot is filled again only when every receiver that
/// counts has said, by its counter, that it is done with it; so the device is done with it as well.
///
///     index   0 ... given back ... | posted ... | committed ... | limit
///
/// Owner thread only.
class RingSender {
 public:
  /// Where the ring lies at a receiver.
  struct Target {
    /// To it; outlives this.
    dtutils::Transmitter* transmitter;
    /// Of the ring there.
    std::uint64_t address;
    /// Of its memory.
    std::uint32_t rkey;
    /// Its row.
    MemberId member;
  };

  /// `ring` is this process' copy, of memory with this key.
  RingSender(const RingFormat& format, std::byte* ring, std::uint32_t lkey,
             std::uint32_t max_inline) noexcept;

  /// A receiver. Setup only.
  void add(const Target& target) { targets_.push_back(target); }
  /// Nothing is written to it any more.
  void remove(MemberId member) noexcept {
    std::erase_if(targets_, [&](const Target& target) { return target.member == member; });
  }
  /// Messages that all receivers are done with.
  void give_back(std::uint64_t taken) noexcept { limit_ = taken + format_.slots; }

  bool has_room() const noexcept { return next_ != limit_; }
  /// Messages committed.
  std::uint64_t committed() const noexcept { return next_; }
  /// Where to build the next message, when there is room.
  std::byte* slot() const noexcept { return ring_ + format_.slot(next_); }
  /// The message in slot() is complete: of so many bytes, or a null for so many turns.
  void commit(std::uint32_t bytes) noexcept { commit(SlotWord::of(next_, bytes)); }
  void commit_null(std::uint32_t turns) noexcept { commit(SlotWord::null(next_, turns)); }
  /// Writes to all receivers what was committed since. True when there was anything.
  bool post() noexcept {
    if (posted_ == next_) return false;
    post_all();
    return true;
  }

 private:
  void commit(SlotWord word) noexcept {
    dtutils::store_device_word(word_at(next_), word.raw());
    if (++next_ - posted_ >= batch_) post_all();
  }
  std::uint64_t* word_at(std::uint64_t index) const noexcept {
    return reinterpret_cast<std::uint64_t*>(ring_ + format_.word(index));
  }
  void post_all() noexcept;
  void post_run(const Target& to, std::uint64_t first, std::uint64_t last) const noexcept;
  void post_messages(const Target& to, std::uint64_t first, std::uint64_t last) const noexcept;
  void write(const Target& to, std::size_t begin, std::size_t end) const noexcept;

  const RingFormat format_;
  std::byte* const ring_;
  const std::uint32_t lkey_;
  const std::uint32_t max_inline_;
  /// Messages that are posted without being asked for.
  const std::uint32_t batch_;
  std::uint64_t next_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t limit_;
  std::vector<Target> targets_;
};

}  // namespace sst::detail
