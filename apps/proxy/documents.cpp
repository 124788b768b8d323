// SPDX-License-Identifier: MIT
// Joins a job and makes its cache, or a cache of this process.
#include "documents.hpp"

#include <algorithm>
#include <iterator>

#include "caching/caching.hpp"
#include "dsfabric/dsfabric.hpp"
#include "proxy/caching_store.hpp"
#include "proxy/local_store.hpp"

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

caching::CacheOptions options_for(const std::string& scheme, std::size_t bytes) {
  caching::CacheOptions options;
  options.bytes = bytes;
  options.scheme = std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& name) {
                     return scheme == name.text;
                   })->scheme;
  options.directory = static_cast<std::uint32_t>(2 * bytes / kExpectedDocument);
  return options;
}

}  // namespace

struct Documents::Job {
  Job(const std::string& scheme, std::size_t bytes, const dsfabric::Config& config)
      : fabric(dsfabric::join(config)), cache(fabric, options_for(scheme, bytes)) {}
  dsfabric::Fabric fabric;
  caching::Cache cache;
};

Documents::Documents(const std::string& scheme, std::size_t bytes, const dsfabric::Config& config) {
  if (scheme == "local") {
    store_ = std::make_unique<proxy::LocalStore>(bytes);
    return;
  }
  job_ = std::make_unique<Job>(scheme, bytes, config);
  rank_ = job_->fabric.process().value;
  store_ = std::make_unique<proxy::CachingStore>(job_->cache);
}

Documents::~Documents() = default;
