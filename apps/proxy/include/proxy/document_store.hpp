// SPDX-License-Identifier: MIT
// Where documents live: behind this, a cache of this process, or one of several nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proxy/document.hpp"

namespace proxy {

/// Keeps documents by their keys for as long as it likes. It knows nothing of HTTP: whether a
/// document may be used says its Validity. Owner thread only.
class DocumentStore {
 public:
  /// Where a document was found.
  enum class Place : std::uint8_t { kNowhere, kHere, kNeighbour };
  /// When something was looked up; a document that was invalidated since then is not put. Another
  /// one after each invalidation, wherever it comes from; unless erase() is the only way to one.
  using Ticket = std::uint64_t;
  struct Found {
    DocumentPtr document;
    Place place = Place::kNowhere;
    Ticket ticket = 0;
  };
  struct Figures {
    std::uint64_t documents = 0;
    std::uint64_t bytes = 0;
    std::uint64_t limit = 0;
    std::uint64_t evictions = 0;
    /// Bytes that came from neighbours.
    std::uint64_t neighbour_bytes = 0;
  };

  DocumentStore() = default;
  DocumentStore(const DocumentStore&) = delete;
  DocumentStore& operator=(const DocumentStore&) = delete;
  virtual ~DocumentStore() = default;

  /// Takes at most the time of a read from a neighbour.
  virtual Found find(std::string_view key) = 0;
  /// Replaces the document of the same key. What does not fit is not kept. `ticket` is of the find
  /// before the document was asked for.
  virtual void put(DocumentPtr document, Ticket ticket) = 0;
  /// Forgets the document, and its variants too, or makes sure that they cannot be found.
  virtual void erase(std::string_view key) = 0;
  /// Bytes of a document at most.
  virtual std::size_t max_document() const noexcept = 0;
  virtual Figures figures() const noexcept = 0;
};

}  // namespace proxy
