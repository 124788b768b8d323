// SPDX-License-Identifier: MIT
// The cache of one process: its documents, and its ways to those of others.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "caching/cache.hpp"
#include "directory.hpp"
#include "dsfabric/return_slot.hpp"
#include "dtutils/mutex.hpp"
#include "hints.hpp"
#include "late_peers.hpp"
#include "local_cache.hpp"
#include "peers.hpp"
#include "requests.hpp"

namespace caching::detail {

/// Lives as long as the fabric, since requests may come later than the end of the Cache. Any
/// thread, except for connect and close.
class Node {
 public:
  Node(dsfabric::Fabric& fabric, const CacheOptions& options);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();
  void connect();
  void close();

  /// `now`: nullptr: the wall clock, which is read where a document may have expired.
  Document get(const Name& name, const Time* now);
  Stored put(const Name& name, const Attributes& attributes, std::span<const std::byte> body,
             Ticket ticket);
  bool invalidate(std::uint64_t key_hash);
  void drop(std::uint64_t key_hash);
  Counters counters() const noexcept;
  const CacheOptions& options() const noexcept { return options_; }
  LocalCache& local() noexcept { return local_; }

  // --- what others ask for --------------------------------------------------------------------
  StoreRequest::Answer store(const StoreRequest& request, std::uint16_t source);
  void count_invalidation(std::uint64_t key_hash) noexcept;
  void forget_all();
  void take_news(std::uint16_t source, const InvalidateRequest& request);
  dsfabric::Fabric& fabric() noexcept { return peers_.fabric(); }

  /// The keeper looks for what a process that has failed took along.
  void notice_failure(std::uint16_t process) noexcept;

 private:
  /// An entry that is held for a scope.
  class Held;
  /// A put that its process has not answered in time, and may still read.
  struct Abandoned {
    std::unique_ptr<dsfabric::ReturnSlot<StoreRequest::Answer>> slot;
    std::uint32_t entry;
    std::uint16_t owner;
  };

  std::uint32_t reserve(std::uint64_t units, Use use);
  std::uint32_t find(const Name& name, const Time* now, bool expired_too, std::uint64_t& ticket);
  bool fresh(std::uint32_t entry, const Time* now) const noexcept;
  Stored put_once(const Name& name, const Attributes& attributes, std::span<const std::byte> body,
                  std::uint64_t ticket, std::uint64_t units);
  std::uint32_t fetch(const Name& name, Word word, const Hint& hint);
  bool fetch_into(std::uint32_t entry, const Name& name, Word word, std::uint64_t bytes);
  /// `front`: where that word is to land.
  bool read_block(Word word, std::byte* into, std::uint64_t* front, std::uint64_t bytes);
  /// Puts a document that is in its block into the index. False when it was invalidated after its
  /// ticket, or is being invalidated.
  bool keep(std::uint32_t entry, const Name& name, bool listed, Peers::Scratch& scratch);
  /// The owner of listing_of(name) only. `read`: the bucket is in `scratch`.
  void list(std::uint32_t entry, const Name& name, bool read, Peers::Scratch& scratch);
  /// Held from before a document has its word in the directory until it is shown, or by who gives a
  /// shown one another word: a process has one word for a tag, so of two documents of one name the
  /// second takes the word of the first, and must be the one that stays.
  dtutils::Mutex& listing_of(const Name& name) noexcept {
    return listing_[name.hash % listing_.size()];
  }
  std::uint16_t owner_of(const Name& name) const noexcept;
  Stored send(std::uint16_t owner, std::uint32_t entry, const Name& name);
  bool ask_to_invalidate(std::uint16_t process, const InvalidateRequest& request);
  void take_out(const Left& left);
  /// Whether a put of that owner is still abandoned after it.
  bool sweep_abandoned(std::uint16_t owner);
  void keep_listed();
  void list_again(std::uint16_t dead);
  /// True while a process is late, or has to be told that it, or another one, is or was.
  bool look_after_late();
  void tell_news(std::uint16_t process);
  void wake_keeper();
  std::uint64_t new_number() noexcept;
  bool may_wait();

  const CacheOptions options_;
  Peers peers_;
  LocalCache local_;
  Hints hints_;
  Directory directory_{peers_};
  std::array<dtutils::Mutex, 64> listing_;
  bool by_checksum_ = true;
  std::uint64_t secret_;
  std::atomic<std::uint64_t> numbers_{0};
  std::atomic<bool> closed_{false};

  std::atomic<std::uint64_t> here_{0};
  std::atomic<std::uint64_t> neighbour_{0};
  std::atomic<std::uint64_t> missed_{0};
  std::atomic<std::uint64_t> neighbour_bytes_{0};
  std::atomic<std::uint64_t> refused_{0};

  std::mutex abandoned_mutex_;
  std::vector<Abandoned> abandoned_;

  LatePeers late_;
  /// Of the keeper: the version of the list that each process was told last.
  std::vector<std::uint64_t> told_;

  std::mutex keeper_mutex_;
  std::condition_variable keeper_wake_;
  std::vector<std::uint16_t> failed_;
  bool some_late_ = false;
  bool ending_ = false;
  std::thread keeper_;
};

}  // namespace caching::detail
