// SPDX-License-Identifier: MIT
// Documents in the memory of this process alone.
#pragma once

#include <list>
#include <string_view>
#include <unordered_map>

#include "proxy/document_store.hpp"

namespace proxy {

/// A cache of a number of bytes. What it evicts is chosen by S3-FIFO (Yang et al., SOSP 2023): new
/// documents pass through a small queue of a tenth of the bytes, and only those that were asked for
/// again there, or that come again soon after, go into the main queue. So documents that are asked
/// for once push out few others, and a hit changes nothing but a counter.
class LocalStore final : public DocumentStore {
 public:
  explicit LocalStore(std::size_t limit);

  Found find(std::string_view key) override;
  void put(DocumentPtr document, Ticket ticket) override;
  void erase(std::string_view key) override;
  /// An eighth of all.
  std::size_t max_document() const noexcept override { return limit_ / 8; }
  Figures figures() const noexcept override;

  /// The sums are those of the documents, and below the limit; for tests.
  bool invariant() const noexcept;

 private:
  struct Entry {
    DocumentPtr document;
    std::size_t bytes;
    std::uint8_t uses = 0;
    bool in_main = false;
  };
  using Queue = std::list<Entry>;

  void make_room(std::size_t bytes);
  void evict_from_small();
  void evict_from_main();
  void remember(std::size_t hash);
  bool remembered(std::size_t hash);
  void forget(Queue::iterator entry);

  const std::size_t limit_;
  /// The newest in front.
  Queue small_, main_;
  std::size_t small_bytes_ = 0, main_bytes_ = 0;
  std::uint64_t evictions_ = 0;
  std::unordered_map<std::string_view, Queue::iterator> entries_;
  /// Hashes of keys that have left the small queue for nothing, the newest in front.
  std::list<std::size_t> ghosts_;
  std::unordered_map<std::size_t, std::list<std::size_t>::iterator> ghost_of_;
};

}  // namespace proxy
