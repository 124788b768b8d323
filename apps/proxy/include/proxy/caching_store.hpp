// SPDX-License-Identifier: MIT
// Documents in the memory of all proxies of a job.
#pragma once

#include <cstddef>

#include "caching/caching.hpp"
#include "proxy/document_store.hpp"

namespace proxy {

/// A caching::Cache as a store: a document that a neighbour has is fetched by one RDMA read, and an
/// invalidation reaches all proxies (paper 003, section 5.1). Bodies are sent from registered
/// memory, where they lie. Owner thread only.
class CachingStore final : public DocumentStore {
 public:
  /// `cache` outlives it and all documents that it gives.
  explicit CachingStore(caching::Cache& cache) : cache_(cache) {}

  Found find(std::string_view key) override;
  void put(DocumentPtr document, Ticket ticket) override;
  /// At all proxies. Waits for their service threads.
  void erase(std::string_view key) override;
  /// An eighth of what this process has.
  std::size_t max_document() const noexcept override { return cache_.options().bytes / 8; }
  Figures figures() const noexcept override;

 private:
  /// In the place of caching::kNoTicket, each another one, since what they stand for is not known.
  static constexpr Ticket kUnknown = Ticket{1} << 63;

  caching::Cache& cache_;
  Ticket next_unknown_ = kUnknown;
};

}  // namespace proxy
