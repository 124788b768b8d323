// SPDX-License-Identifier: MIT
// Joins a job and makes its cache, or a cache of this process.
#include "documents.hpp"

#include <algorithm>
#include <iterator>

#include "caching/caching.hpp"
#include "dsfabric/dsfabric.hpp"
#include "dtutils/error.hpp"
#include "job_figures.hpp"
#include "proxy/caching_store.hpp"
#include "proxy/local_store.hpp"
#include "site_placement.hpp"

namespace {

struct Name {
  const char* text;
  caching::Scheme scheme;
};

constexpr Name kNames[] = {{"ac", caching::Scheme::kAc},
                           {"bcc", caching::Scheme::kBcc},
                           {"ccwr", caching::Scheme::kCcwr},
                           {"mtacc", caching::Scheme::kMtacc},
                           {"hybcc", caching::Scheme::kHybcc}};
/// Bytes of a document, about, by which the directory is sized.
constexpr std::size_t kExpectedDocument = 4096;

caching::CacheOptions options_for(const std::string& scheme, std::size_t bytes, bool lends) {
  caching::CacheOptions options;
  options.bytes = bytes;
  options.lends = lends;
  options.scheme = std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& name) {
                     return scheme == name.text;
                   })->scheme;
  options.directory = static_cast<std::uint32_t>(2 * bytes / kExpectedDocument);
  return options;
}

bool is_lender(const dsfabric::Fabric& fabric, std::uint64_t lenders) {
  if (lenders >= fabric.processes()) {
    throw dtutils::Error("--lenders", "no process of the job is left to be a proxy",
                         "start more processes, or fewer lenders");
  }
  return fabric.process().value >= fabric.processes() - lenders;
}

}  // namespace

struct Documents::Job {
  Job(const std::string& scheme, std::size_t bytes, std::uint64_t lenders,
      const std::vector<proxy::Site>& sites, const dsfabric::Config& config)
      : fabric(dsfabric::join(config)),
        lends(is_lender(fabric, lenders)),
        placement(lends || sites.empty() ? nullptr
                                         : std::make_unique<SitePlacement>(fabric, sites)),
        cache(fabric, options_for(scheme, bytes, lends)),
        figures(fabric) {
    // All have made what comes before the cache.
    if (placement) placement->find_others();
  }
  dsfabric::Fabric fabric;
  const bool lends;
  const std::unique_ptr<SitePlacement> placement;
  caching::Cache cache;
  JobFigures figures;
};

Documents::Documents(const std::string& scheme, std::size_t bytes, std::uint64_t lenders,
                     const std::vector<proxy::Site>& sites, const dsfabric::Config& config) {
  if (lenders != 0 && scheme != "mtacc" && scheme != "hybcc") {
    throw dtutils::Error("--lenders", "the scheme " + scheme + " uses no memory of other tiers",
                         "choose --scheme mtacc or hybcc");
  }
  if (scheme == "local") {
    store_ = std::make_unique<proxy::LocalStore>(bytes);
    return;
  }
  job_ = std::make_unique<Job>(scheme, bytes, lenders, sites, config);
  rank_ = job_->fabric.process().value;
  store_ = std::make_unique<proxy::CachingStore>(job_->cache);
}

Documents::~Documents() = default;

proxy::Placement* Documents::placement() noexcept { return job_ ? job_->placement.get() : nullptr; }

proxy::Publisher* Documents::publisher() noexcept { return job_ ? &job_->figures : nullptr; }

bool Documents::lends() const noexcept { return job_ && job_->lends; }
