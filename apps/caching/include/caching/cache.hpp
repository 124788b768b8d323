// SPDX-License-Identifier: MIT
// Documents in the memory of all processes of a job: get, put, invalidate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "caching/document.hpp"
#include "caching/options.hpp"
#include "dsfabric/fabric.hpp"

namespace caching {

namespace detail {
class Node;
}  // namespace detail

/// How a put has ended.
enum class Stored : std::uint8_t {
  /// It is in the memory of this process.
  kHere,
  /// It is in that of the process that the scheme has chosen.
  kElsewhere,
  /// It is in no cache: it is larger than a cache, or than what a key may be.
  kTooLarge,
  /// It is in no cache: all memory is held by Documents, or the process for it is gone.
  kNoRoom,
  /// It is in no cache: the key was invalidated after the ticket. What was put since then stays.
  kOutdated,
};

/// What a cache has done so far.
struct Counters {
  /// Documents that were here.
  std::uint64_t here = 0;
  /// Documents that came from a neighbour.
  std::uint64_t neighbour = 0;
  /// Neither.
  std::uint64_t missed = 0;
  /// Bytes that came from neighbours.
  std::uint64_t neighbour_bytes = 0;
  /// Reads from a neighbour that brought something else than the document: it was evicted
  /// meanwhile, or the directory was out of date.
  std::uint64_t refused = 0;
  /// Documents that made room for others.
  std::uint64_t evicted = 0;
  /// Documents here now.
  std::uint64_t documents = 0;
  /// Bytes that they take, with what is kept beside them.
  std::uint64_t bytes = 0;
};

/// A process' part of the cache of a job.
///
///     caching::Cache cache(fabric, {.bytes = 256 << 20});
///     caching::Document found = cache.get(url, variant);
///     if (!found) {                                   // ask the origin
///       cache.put(url, variant, {.expires = ..., .validator = etag, .metadata = fields}, body,
///                 found.ticket());
///     }
///
/// A document is named by a key (for a web cache the URL) and a variant (what Vary chooses by; may
/// be empty), any bytes of at most 64 KiB together. One for which only the key is known (the fields
/// that Vary names, say) is put with the empty variant.
///
/// Threads: get, put, invalidate and counters: any thread of the process, any number at a time,
/// also threads that the fabric does not know. Each takes one lock of this Cache for the time of a
/// look-up or of an insertion, never while it copies, fetches or waits. A get of a document that is
/// here, and fresh, makes no network operation. One from a neighbour waits for one or two RDMA
/// reads, and runs no handlers. A put that goes to another process and an invalidate are calls to
/// service threads; they wait and serve meanwhile, as every wait of the fabric, and return kNoRoom
/// or false where waiting is not allowed (in an inline handler). They throw what handlers throw
/// that run meanwhile, and nothing else; the first remote operation of a thread that the fabric
/// does not know takes memory. Each process needs a service thread.
///
/// Failure: a process that dies takes its documents along, and nothing else. A cache rests on
/// Fabric::failed of its own process alone: what it believes changes which copy it finds, and never
/// what a document is.
class Cache {
 public:
  /// Made by all processes at the same time, after join() and outside of run(), in the same order
  /// as other such objects (a collective of the launcher). Throws Error when memory is exhausted,
  /// when the options of the processes differ, or a process has no service thread. Setup only.
  explicit Cache(dsfabric::Fabric& fabric, const CacheOptions& options = {});
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  /// All its Documents are gone by then. Requests of others may still come: they are refused.
  ~Cache();

  /// The document, from here or from a neighbour, or a miss. Expired documents are given too, for
  /// asking the origin with their validator; when the one that is here has expired at `now`, a
  /// neighbour is asked for a fresh one first. Never a document that is half of one and half of
  /// another. A process that fails meanwhile makes it a miss.
  Document get(std::string_view key, std::string_view variant, Time now) noexcept;
  /// The same by the wall clock, which is read only for a document that expires.
  Document get(std::string_view key, std::string_view variant = {}) noexcept;

  /// Keeps a document, in the place of the one of the same key and variant. Copies older ones at
  /// other processes stay until they expire: call invalidate before, if they must not be given any
  /// more. `ticket` is that of the Document (or miss) of the get before the origin was asked: a key
  /// that was invalidated since then is not put. The empty ticket always puts.
  Stored put(std::string_view key, std::string_view variant, const Attributes& attributes,
             std::span<const std::byte> body, Ticket ticket = {});

  /// Takes all variants of a key out of all caches. When it has returned true, no get that begins
  /// later, at any process that this process does not regard as failed, gives a document of this
  /// key that was put before, or that is put by a ticket from before. Processes that this process
  /// regards as failed are declared failed by all that are asked, so that nobody reads from them
  /// any more; such a process, if it was only stopped, may give to itself what it had. False when a
  /// process did not answer in CacheOptions::patience though it has not failed: ask again. The
  /// others have taken them out all the same.
  bool invalidate(std::string_view key);

  /// Takes all variants of a key out of the cache of this process alone.
  void drop(std::string_view key) noexcept;

  /// As of now.
  Counters counters() const noexcept;
  /// That memory and index agree with each other, for tests. Any thread (takes a lock).
  bool invariant() const;
  /// As given. Any thread, wait-free.
  const CacheOptions& options() const noexcept;

 private:
  Document get_at(std::string_view key, std::string_view variant, const Time* now) noexcept;

  std::shared_ptr<detail::Node> node_;
};

}  // namespace caching
