// SPDX-License-Identifier: MIT
// Requests by Zipf's law to proxies whose caches work together by each scheme.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/webtier/cases.hpp"
#include "caching/caching.hpp"

namespace webtier_bench {
namespace {

using caching::Scheme;

/// Bytes of one cache, and of all documents: the working set is twice as large as a cache.
constexpr std::size_t kCacheBytes = std::size_t{8} << 20;
constexpr std::size_t kDocumentsBytes = 2 * kCacheBytes;
constexpr std::size_t kSmallest = 8192;
constexpr std::size_t kLargestDocument = 65'536;
/// What stands in for the origin: an answer takes so long, however many are asked for.
constexpr std::chrono::microseconds kOrigin{1000};
/// Requests for each document, from each proxy, before anything is measured.
constexpr std::uint64_t kWarmUp = 10;

constexpr struct {
  Scheme scheme;
  const char* name;
} kSchemes[] = {
    {Scheme::kAc, "ac"}, {Scheme::kBcc, "bcc"}, {Scheme::kCcwr, "ccwr"}, {Scheme::kHybcc, "hybcc"}};

/// A proxy with a cache for each scheme; what they hold stays from batch to batch.
struct Proxy {
  Proxy(bench::Channel& channel, const std::string& device)
      : fabric(join(channel, device)), answer(kLargestDocument), random(channel.rank() + 1) {
    for (const auto& each : kSchemes) {
      caching::CacheOptions options;
      options.bytes = kCacheBytes;
      options.scheme = each.scheme;
      options.directory = 4096;
      caches.push_back(std::make_unique<caching::Cache>(fabric, options));
    }
    // The same in all processes.
    std::mt19937_64 sizes(7);
    for (std::size_t all = 0; all < kDocumentsBytes; all += documents.back()) {
      documents.push_back(kSmallest + sizes() % (kLargestDocument - kSmallest));
    }
  }

  /// Requests by Zipf's law with that exponent.
  void choose(double exponent) {
    double sum = 0;
    share.clear();
    for (std::size_t i = 0; i < documents.size(); ++i) {
      share.push_back(sum += std::pow(static_cast<double>(i + 1), -exponent));
    }
    for (double& each : share) each /= sum;
  }
  std::size_t next() {
    const double at = std::uniform_real_distribution<>(0, 1)(random);
    const auto found = std::lower_bound(share.begin(), share.end(), at);
    return std::min(static_cast<std::size_t>(found - share.begin()), share.size() - 1);
  }
  /// `origin`: how long it takes.
  void serve(caching::Cache& cache, std::uint64_t requests, std::chrono::microseconds origin) {
    for (std::uint64_t i = 0; i < requests; ++i) {
      const std::size_t document = next();
      const std::string key = "/document/" + std::to_string(document);
      caching::Document found = cache.get(key);
      if (!found) {
        if (origin.count() != 0) std::this_thread::sleep_for(origin);
        (void)cache.put(key, "", {}, std::span(answer).first(documents[document]), found.ticket());
      } else {
        // As it would be handed to a socket.
        std::copy(found.body().begin(), found.body().end(), answer.begin());
      }
    }
  }

  dsfabric::Fabric fabric;
  std::vector<std::unique_ptr<caching::Cache>> caches;
  std::vector<std::size_t> documents;
  std::vector<double> share;
  std::vector<std::byte> answer;
  std::mt19937_64 random;
};

}  // namespace

void add_trace_cases(bench::Suite& suite, const std::string& device) {
  for (const std::uint64_t percent : {50u, 75u, 90u}) {
    // `size`: the exponent in hundredths.
    bench::Case item{.name = "trace_zipf", .size = percent, .unit = bench::Unit::kPerSecond};
    const auto kept = std::make_shared<std::unique_ptr<Proxy>>();
    item.prepare = [=, &device](bench::Channel& channel) {
      *kept = std::make_unique<Proxy>(channel, device);
      Proxy& here = **kept;
      here.choose(static_cast<double>(percent) / 100);
      channel.barrier();
      for (const auto& cache : here.caches) {
        here.serve(*cache, kWarmUp * here.documents.size(), {});
      }
      channel.barrier();
    };
    item.finish = [=](bench::Channel& channel) {
      channel.barrier();
      kept->reset();
    };
    item.oversubscribed = true;
    item.max_iterations = 20'000;
    for (std::size_t i = 0; i < std::size(kSchemes); ++i) {
      const auto serve = [=](bench::Batch& batch) {
        Proxy& here = **kept;
        here.serve(*here.caches[i], batch.iterations(), kOrigin);
        batch.channel().barrier();
      };
      item.variants.push_back({.name = kSchemes[i].name,
                               .measure =
                                   [=](bench::Batch& batch) {
                                     // Each process serves as many.
                                     return batch.per_second([&] { serve(batch); }) *
                                            batch.channel().processes();
                                   },
                               .assist = serve});
    }
    item.ratios = {{.over = "hybcc", .under = "ac", .bar = ">= 1.8"},
                   {.over = "hybcc", .under = "bcc", .bar = ">= 1.3"},
                   {.over = "ccwr", .under = "ac"}};
    suite.add(std::move(item));
  }
}

}  // namespace webtier_bench
