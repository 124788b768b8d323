// SPDX-License-Identifier: MIT
// Which document makes room: LRU and S3-FIFO over lists of entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "caching/options.hpp"
#include "entry.hpp"

namespace caching::detail {

/// The order in which documents leave. It owns no entries: `entries` is the table that numbers
/// point into, and `touched` has one byte for each (modulo kTouches), which neighbours set when
/// they have read the document. One thread at a time; no allocation after the constructor.
///
/// LRU: one list, the main one; what was asked for moves to its new end. S3-FIFO: what is new goes
/// into the small list, which has a tenth of the memory; from its old end what was asked for more
/// than once goes to the main list, the rest leaves, and its hash is remembered. What comes with a
/// remembered hash goes into the main list at once. There, what was asked for gets another round
/// for each time, three at most. Asking counts, and moves nothing.
class Replacer {
 public:
  Replacer(Replacement policy, std::vector<Entry>& entries, std::uint8_t* touched,
           std::uint64_t units);

  void insert(std::uint32_t entry) noexcept;
  void hit(std::uint32_t entry) noexcept;
  void remove(std::uint32_t entry) noexcept;
  /// The entry that is to leave next, among those that nobody holds; kNoEntry when there is none.
  /// It is not removed.
  std::uint32_t victim() noexcept;
  std::uint64_t units() const noexcept { return small_.units + main_.units; }

 private:
  struct List {
    std::uint32_t newest = kNoEntry;
    std::uint32_t oldest = kNoEntry;
    std::uint64_t units = 0;
    std::uint32_t count = 0;
  };
  struct Ghost {
    std::uint64_t name_hash = 0;
    std::uint64_t when = 0;
  };

  List& list_of(const Entry& entry) noexcept { return entry.in_main ? main_ : small_; }
  void push(List& list, std::uint32_t entry) noexcept;
  void unlink(List& list, std::uint32_t entry) noexcept;
  void renew(List& list, std::uint32_t entry) noexcept;
  bool take_touch(std::uint32_t entry) noexcept;
  std::uint32_t oldest_unused() noexcept;
  std::uint32_t leaves_small() noexcept;
  std::uint32_t leaves_main() noexcept;
  void remember(std::uint64_t name_hash) noexcept;
  bool remembered(std::uint64_t name_hash) noexcept;

  Replacement policy_;
  std::vector<Entry>& entries_;
  std::uint8_t* touched_;
  std::uint64_t capacity_;
  List small_;
  List main_;
  std::vector<Ghost> ghosts_;
  std::uint64_t left_ = 0;
};

}  // namespace caching::detail
