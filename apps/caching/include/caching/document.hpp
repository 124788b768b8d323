// SPDX-License-Identifier: MIT
// A document that a cache has given: bytes that stay as they are while the handle lives.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace caching {

/// Points in time of expiry: the wall clock of the process that has put the document.
using Time = std::chrono::system_clock::time_point;

/// What comes along with the bytes of a document. The cache keeps it and judges nothing of it.
struct Attributes {
  /// From when on it is not fresh any more.
  Time expires = Time::max();
  /// For asking the origin whether it has changed: the bytes of an ETag, or of Last-Modified.
  std::string_view validator;
  /// Anything of the user: status and header fields.
  std::string_view metadata;
};

/// Where a document was found.
enum class Source : std::uint8_t {
  /// Nowhere.
  kMiss,
  /// In the memory of this process.
  kHere,
  /// In that of another one: it was fetched by one RDMA read.
  kNeighbour,
};

/// What Cache::put needs to know whether the document was invalidated while it was fetched.
struct Ticket {
  /// Of the invalidations in this process.
  std::uint64_t epoch = 0;
  friend bool operator==(const Ticket&, const Ticket&) = default;
};

/// Of a get that could not look whether its key is being invalidated: no put with it is kept.
inline constexpr Ticket kNoTicket{~std::uint64_t{0}};

namespace detail {
class Node;
}  // namespace detail

/// What Cache::get answers: a document, or that there is none. While it lives, its bytes stay where
/// they are and as they are, whatever becomes of the document in the cache; so they may be given to
/// writev(2) as they are. It keeps that memory from others: let it go soon. The Cache outlives it.
///
/// Movable; may go to another thread, and be destroyed on any (takes a lock for a short time). The
/// views are valid as long as it lives.
class Document {
 public:
  /// A miss.
  Document() noexcept = default;
  /// For Cache: a miss with a ticket, or entry number `entry` of `node`, which the handle holds.
  explicit Document(Ticket ticket) noexcept : ticket_(ticket) {}
  Document(detail::Node& node, std::uint32_t entry, const std::byte* block, Source source,
           Ticket ticket) noexcept
      : node_(&node), block_(block), entry_(entry), source_(source), ticket_(ticket) {}
  Document(Document&& other) noexcept
      : node_(std::exchange(other.node_, nullptr)),
        block_(std::exchange(other.block_, nullptr)),
        entry_(other.entry_),
        source_(std::exchange(other.source_, Source::kMiss)),
        ticket_(other.ticket_) {}
  Document& operator=(Document&& other) noexcept {
    Document taken(std::move(other));
    std::swap(node_, taken.node_);
    std::swap(block_, taken.block_);
    std::swap(entry_, taken.entry_);
    std::swap(source_, taken.source_);
    std::swap(ticket_, taken.ticket_);
    return *this;
  }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  ~Document();

  /// Whether there is one.
  explicit operator bool() const noexcept { return source_ != Source::kMiss; }
  /// Where it was.
  Source source() const noexcept { return source_; }
  /// For a put that follows a miss, or that brings a newer one: see Cache::put.
  Ticket ticket() const noexcept { return ticket_; }
  /// Its bytes; none for a miss, as for the others below.
  std::span<const std::byte> body() const noexcept;
  /// As given to put.
  std::string_view metadata() const noexcept;
  /// As given to put.
  std::string_view validator() const noexcept;
  /// As given to put.
  Time expires() const noexcept;
  /// Whether it had not expired at that time, by the caller's clock.
  bool fresh(Time now) const noexcept { return now < expires(); }

 private:
  detail::Node* node_ = nullptr;
  const std::byte* block_ = nullptr;
  std::uint32_t entry_ = 0;
  Source source_ = Source::kMiss;
  Ticket ticket_;
};

}  // namespace caching
