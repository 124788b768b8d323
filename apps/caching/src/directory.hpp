// SPDX-License-Identifier: MIT
// The directory: which process may have a document, as words that all change by one-sided
// operations.
#pragma once

#include <cstdint>
#include <optional>

#include "entry.hpp"
#include "peers.hpp"

namespace caching::detail {

/// Each key has one bucket, at the process that its hash chooses among those that live. A word says
/// where a document may be, and is never believed: so it does not matter that words of the dead
/// stay until others need the room, that a full bucket forgets one, or that two processes see
/// another home for a key for a while. Any thread; operations wait for the device alone. They throw
/// as Fabric::transmitter.
class Directory {
 public:
  explicit Directory(Peers& peers) noexcept : peers_(peers) {}

  /// Brings the bucket of a key into `scratch`. False when no home could be reached.
  bool read(std::uint64_t key_hash, Peers::Scratch& scratch);
  /// Makes the bucket, as it was read last, have that word: in the place of the process' word for
  /// the same tag, of nothing, of one of the dead, or of any other one. Empty when the bucket is
  /// not as it was read, or the home is gone: read again.
  std::optional<Listing> insert(std::uint64_t key_hash, Word word, Peers::Scratch& scratch);
  /// Takes a word out, if it is there still; waits for nothing.
  void remove(const Listing& listing);

 private:
  std::size_t place_for(const Bucket& bucket, Word word) const noexcept;
  dtutils::RemoteMemoryLocator word_at(const Listing& listing) const noexcept;

  Peers& peers_;
};

}  // namespace caching::detail
