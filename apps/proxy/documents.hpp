// SPDX-License-Identifier: MIT
// The store of a proxy as the command line chooses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dsfabric/config.hpp"
#include "proxy/document_store.hpp"
#include "proxy/placement.hpp"
#include "proxy/publisher.hpp"
#include "proxy/sites.hpp"

/// The documents of this proxy: in its own memory alone ("local"), or in that of all processes of
/// the job. Owner thread only.
class Documents {
 public:
  /// Joins the job, unless `scheme` is "local". The last `lenders` processes of it are of another
  /// tier; the others divide the `sites` among them, if there are any. Throws dtutils::Error, also
  /// where the scheme knows no lenders, or no proxy is left. Setup only.
  Documents(const std::string& scheme, std::size_t bytes, std::uint64_t lenders,
            const std::vector<proxy::Site>& sites, const dsfabric::Config& config);
  ~Documents();

  proxy::DocumentStore& store() noexcept { return *store_; }
  /// The number of this proxy in its job.
  std::uint16_t rank() const noexcept { return rank_; }
  /// This process lends its memory, and serves nobody.
  bool lends() const noexcept;
  /// Null without a job, without sites, and where this process lends.
  proxy::Placement* placement() noexcept;
  /// Null without a job.
  proxy::Publisher* publisher() noexcept;

 private:
  struct Job;
  std::unique_ptr<Job> job_;
  std::unique_ptr<proxy::DocumentStore> store_;
  std::uint16_t rank_ = 0;
};
