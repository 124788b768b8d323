// SPDX-License-Identifier: MIT
// The place in a chunk where the next call is serialized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "dsfabric/detail/object_bytes.hpp"
#include "riutils/detail/ring_header.hpp"

namespace riutils::detail {

inline void put_word(std::byte* at, std::uint64_t word) noexcept {
  std::memcpy(at, &word, sizeof word);
}
/// The bytes of a callable; those of an empty one mean nothing.
template <class F>
void put(std::byte* at, const F& callable) noexcept {
  if constexpr (!std::is_empty_v<F>) {
    dsfabric::detail::put_object(at, callable);
  }
}

/// The cursors of a sender in the chunk that it fills, from the highest address downwards. Calls of
/// one function that follow each other share the header of one record (ring_header.hpp). It does
/// not know where the bytes go. One cache line, since a batched call touches nothing else.
///
/// Owner thread only.
class alignas(64) ChunkWriter {
 public:
  /// Of a record that no further calls may join.
  static constexpr std::uint32_t kNoRun = 0xffff'ffff;

  /// Goes to the top of an empty chunk.
  void start(std::byte* chunk, std::uint32_t bytes) noexcept {
    begin_ = chunk;
    go_on_at(chunk + bytes);
  }
  /// Goes to a place below all that has been sent. Calls are batched there after allow().
  void go_on_at(std::byte* place) noexcept { at_ = sent_ = floor_ = place; }
  /// Goes over the record of one call, which is sent by itself; a negative number goes back.
  void pass(std::ptrdiff_t bytes) noexcept { at_ = sent_ = at_ - bytes; }
  /// Leaves no room, for a ring whose peer is gone.
  void stop() noexcept {
    close_record();
    go_on_at(begin_);
  }

  /// The lowest byte that is serialized; the next header's place is below.
  std::byte* at() const noexcept { return at_; }
  /// The lowest byte that was sent, or the top of the chunk.
  std::byte* sent() const noexcept { return sent_; }
  bool has_unsent() const noexcept { return at_ != sent_; }
  std::size_t unsent() const noexcept { return static_cast<std::size_t>(sent_ - at_); }
  /// Bytes below at(); 0 before the first chunk.
  std::size_t room() const noexcept { return static_cast<std::size_t>(at_ - begin_); }
  /// Bytes from at() to the top of the chunk, which has `chunk_bytes`; 0 before the first one.
  std::uint64_t filled(std::uint32_t chunk_bytes) const noexcept {
    return begin_ == nullptr ? 0 : chunk_bytes - room();
  }
  std::byte* begin() const noexcept { return begin_; }
  /// Calls serialized so far.
  std::uint64_t calls() const noexcept { return calls_ + open_calls(); }

  /// Further calls may be batched into so many bytes below at(), the zero word excluded.
  void allow(std::size_t bytes) noexcept { floor_ = at_ - bytes; }
  /// One more call of the open record's function: a compare and a store. False: nothing was done.
  template <class F>
  bool try_append(std::uint32_t function, const F& callable) noexcept {
    constexpr std::uint32_t kStride = ring_stride(sizeof(F));
    if (run_function_ != function || at_ - floor_ < std::ptrdiff_t{kStride}) return false;
    at_ -= kStride;
    put(at_, callable);
    return true;
  }
  /// Whether a call of so many bytes may be batched into a record of its own.
  bool takes(std::uint32_t stride) const noexcept {
    return at_ - floor_ >= static_cast<std::ptrdiff_t>(kRingWord + stride);
  }

  /// Closes the open record and begins one, whose first call lies at at() then. `header` counts no
  /// call yet. `run_function`: of which more calls may join, as this program numbers it; or kNoRun.
  void open_record(const RingHeader& header, std::uint32_t run_function) noexcept {
    close_record();
    run_stride_ = ring_stride(header.bytes);
    run_header_ = at_ - kRingWord;
    run_word_ = header.encode();
    run_function_ = run_function;
    at_ = run_header_ - run_stride_;
  }
  /// So many more calls join the open record, below the others; the caller puts their bytes.
  void extend_record(std::uint32_t calls) noexcept { at_ -= std::size_t{run_stride_} * calls; }
  /// Writes the header of the open record.
  void close_record() noexcept {
    if (run_header_ == nullptr) return;
    const std::uint64_t count = open_calls();
    put_word(run_header_, run_word_ + RingHeader::counting(count));
    calls_ += count;
    run_header_ = nullptr;
    run_function_ = kNoRun;
  }

 private:
  std::uint64_t open_calls() const noexcept {
    if (run_header_ == nullptr) return 0;
    const auto bytes = static_cast<std::uint32_t>(run_header_ - at_);
    return bytes == run_stride_ ? 1 : bytes / run_stride_;
  }

  std::byte* at_ = nullptr;
  /// Calls may be batched down to here; where none may, at_ or above.
  std::byte* floor_ = nullptr;
  std::uint32_t run_function_ = kNoRun;
  std::uint32_t run_stride_ = 0;
  /// Place of the open record's header, which is written when the record is closed; nullptr where
  /// none is open.
  std::byte* run_header_ = nullptr;
  /// That header, with a count of 0.
  std::uint64_t run_word_ = 0;
  std::byte* sent_ = nullptr;
  std::byte* begin_ = nullptr;
  /// In records that are closed.
  std::uint64_t calls_ = 0;
};
static_assert(sizeof(ChunkWriter) == 64);

}  // namespace riutils::detail
