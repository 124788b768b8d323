// SPDX-License-Identifier: MIT
// A document that the neighbour has, beside an RDMA read of as many bytes.
#include <optional>
#include <string>
#include <vector>

#include "bench/webtier/cases.hpp"
#include "caching/caching.hpp"

namespace webtier_bench {
namespace {

/// Documents that a case gets in turn.
constexpr std::size_t kDocuments = 8;
constexpr std::size_t kLargest = 65'536;

struct Neighbours {
  Neighbours(bench::Channel& channel, const std::string& device)
      : fabric(join(channel, device)),
        cache(fabric, options()),
        registered(fabric.general_allocator().allocate(kLargest)) {
    if (fabric.process().value == 0) raw = fabric.allocate_remote({1}, kDocuments * kLargest);
  }
  static caching::CacheOptions options() {
    caching::CacheOptions options;
    options.bytes = 16 << 20;
    options.scheme = caching::Scheme::kCcwr;
    options.directory = 1024;
    return options;
  }
  /// Documents of that size whose process is 1.
  void put(std::size_t bytes) {
    const std::vector<std::byte> body(bytes, std::byte{1});
    for (int i = 0; keys.size() < kDocuments; ++i) {
      const std::string key = "/" + std::to_string(bytes) + "/" + std::to_string(i);
      if (cache.put(key, "", {}, body) == caching::Stored::kElsewhere) keys.push_back(key);
    }
  }

  dsfabric::Fabric fabric;
  caching::Cache cache;
  dtutils::RDMAMemory registered;
  std::vector<std::string> keys;
  std::optional<dsfabric::RemoteMemory> raw;
};

}  // namespace

void add_neighbour_cases(bench::Suite& suite, const std::string& device) {
  for (const std::size_t bytes : {std::size_t{8192}, kLargest}) {
    bench::Case item{.name = "neighbour_hit", .size = bytes};
    const auto kept = keep<Neighbours>(item, device);
    const auto raw = [=](bench::Batch& batch) {
      Neighbours& here = **kept;
      return batch.ns_each([&] {
        for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
          must(here.fabric.transmitter({1}).blocking_read(
                   here.registered.local(0, static_cast<std::uint32_t>(bytes)),
                   here.raw->locator().part(i % kDocuments * kLargest, bytes)),
               "the peer is gone");
        }
      });
    };
    const auto get = [=](bench::Batch& batch) {
      Neighbours& here = **kept;
      if (here.keys.empty()) here.put(bytes);
      return batch.ns_each([&] {
        for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
          const caching::Document found = here.cache.get(here.keys[i % kDocuments]);
          must(found.source() == caching::Source::kNeighbour && found.body().size() == bytes,
               "a document is not where it was");
        }
      });
    };
    item.variants = {{.name = "rdma_read", .measure = raw}, {.name = "neighbour", .measure = get}};
    item.ratios = {{.over = "neighbour", .under = "rdma_read", .bar = "<= 1.25"}};
    suite.add(std::move(item));
  }
}

}  // namespace webtier_bench
