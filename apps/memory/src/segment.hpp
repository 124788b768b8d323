// SPDX-License-Identifier: MIT
// A segment as the processor of its home changes it, under its exclusive lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "layout.hpp"

namespace memory::detail {

/// Writes in the order that makes each reader see one version or none: the ends of what a reader
/// fetches last are marked first, then come the data, then the version of the header, then the
/// words that readers fetch first. Whoever finds one number in all words has the data of that
/// write:
///  - not older: the number of the header, or of a front, is written after the data;
///  - not newer: a later write has marked the back before it changed a byte.
/// Only with the exclusive lock of the segment, or before anybody knows it.
class Segment {
 public:
  Segment(std::byte* header, bool lines) noexcept : at_(header), lines_(lines) {}

  Header& header() const noexcept { return *reinterpret_cast<Header*>(at_); }
  Kind kind() const noexcept { return static_cast<Kind>(header().kind); }
  /// Acquire: pairs with `publish`, here or at another process.
  std::uint64_t version() const noexcept { return load(header().version); }

  Head head() const noexcept { return {header().length, header().kind, version()}; }

  /// A write of this version begins.
  void mark(std::uint64_t version) const noexcept {
    for_each_back([&](std::uint64_t& back) {
      // Acquire and release: the data are stored behind it, for readers who look here last.
      std::atomic_ref(back).exchange(version | kBusy, std::memory_order_acq_rel);
    });
  }
  void copy_in(std::uint64_t first, const void* from, std::uint64_t bytes) const noexcept {
    const auto* source = static_cast<const std::byte*>(from);
    if (!in_lines()) {
      std::memcpy(data() + first, source, bytes);
      return;
    }
    for_each_piece(first, bytes, [&](std::uint64_t at, std::uint64_t done, std::uint64_t piece) {
      std::memcpy(data() + at, source + done, piece);
    });
  }
  void copy_out(std::uint64_t first, void* to, std::uint64_t bytes) const noexcept {
    auto* target = static_cast<std::byte*>(to);
    if (!in_lines()) {
      std::memcpy(target, data() + first, bytes);
      return;
    }
    for_each_piece(first, bytes, [&](std::uint64_t at, std::uint64_t done, std::uint64_t piece) {
      std::memcpy(target + done, data() + at, piece);
    });
  }
  void clear() const noexcept {
    if (!in_lines()) {
      std::memset(data(), 0, round_up(header().length, kWord));
      return;
    }
    for (std::uint64_t i = 0; i < lines_of(header().length); ++i) {
      std::memset(data() + i * kLine + kWord, 0, kLineData);
    }
  }
  /// Makes the version known. Release stores: each behind the data and those before it.
  void publish(std::uint64_t version) const noexcept {
    store(header().version, version);
    if (in_lines()) {
      for (std::uint64_t i = 0; i < lines_of(header().length); ++i) {
        store(word(i * kLine), version);
        store(word(i * kLine + kBackAt), version);
      }
    } else if (kind() == Kind::kVersioned) {
      store(word(back_at(header().length) - kHeader), version);
    }
  }
  /// Whether all its words tell of one version. They always do when nobody has the lock, unless
  /// somebody wrote over them through a wrong pointer to a plain segment.
  bool consistent() const noexcept {
    const std::uint64_t now = version();
    bool same = (now & kBusy) == 0;
    for_each_back([&](const std::uint64_t& back) { same = same && load(back) == now; });
    for (std::uint64_t i = 0; in_lines() && i < lines_of(header().length); ++i) {
      same = same && load(word(i * kLine)) == now;
    }
    return same;
  }
  /// After the death of a writer: ends its write. True when its data were there as a whole, or
  /// nothing had begun; else the segment is damaged now.
  bool repair() const noexcept {
    const std::uint64_t now = version();
    bool begun = false;
    bool whole = true;
    for_each_back([&](const std::uint64_t& back) {
      const std::uint64_t seen = load(back);
      begun = begun || (seen & kBusy) != 0;
      // The header's version is written when the data are there.
      if ((seen & kBusy) != 0 && (seen & ~kBusy) == now) whole = false;
    });
    if (!begun) return true;
    if (whole) {
      publish(now);
      return true;
    }
    publish(next_version(now) | kDamagedBit);
    return false;
  }

 private:
  bool in_lines() const noexcept { return lines_ && kind() == Kind::kVersioned; }
  std::byte* data() const noexcept { return at_ + kHeader; }
  std::uint64_t& word(std::uint64_t at) const noexcept {
    return *reinterpret_cast<std::uint64_t*>(data() + at);
  }
  template <class F>
  void for_each_back(F&& f) const noexcept {
    if (in_lines()) {
      for (std::uint64_t i = 0; i < lines_of(header().length); ++i) f(word(i * kLine + kBackAt));
    } else if (kind() == Kind::kVersioned) {
      f(word(back_at(header().length) - kHeader));
    }
  }
  static std::uint64_t load(const std::uint64_t& word) noexcept {
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
  }
  static void store(std::uint64_t& word, std::uint64_t value) noexcept {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }

  std::byte* at_;
  bool lines_;
};

}  // namespace memory::detail
