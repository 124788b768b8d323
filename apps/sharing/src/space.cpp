// SPDX-License-Identifier: MIT
// Space: the processes get to know each other, and each host its cache.
#include "sharing/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "dtutils/error.hpp"
#include "host_cache.hpp"
#include "node.hpp"

namespace sharing {
namespace {

/// "sharing", and the version of what its processes say to each other.
constexpr std::uint64_t kProtocol = 0x7368'6172'696e'6702;

/// What the Spaces of a fabric leave to it.
struct Kept {
  std::mutex mutex;
  std::vector<std::shared_ptr<void>> all;
};
constexpr char kKeptKey = 0;

[[noreturn]] void differs(std::size_t process, const char* what) {
  throw dtutils::Error(fmt::format("process {}", process), what,
                       "let all processes make the same sharing::Space at the same point");
}

/// Of `data`, and of `cached`.
constexpr std::uint32_t kMostData = 1 << 24;

const SpaceOptions& checked(const SpaceOptions& options) {
  if (options.data == 0 || std::max(options.data, options.cached) > kMostData) {
    throw dtutils::Error(
        "sharing::Space",
        fmt::format("it is for {} data, {} of them cached", options.data, options.cached),
        fmt::format("set SpaceOptions::data and cached to {} at most, and data to 1 "
                    "at least",
                    kMostData));
  }
  return options;
}

}  // namespace

Space::Space(dsfabric::Fabric& fabric, const SpaceOptions& options)
    : fabric_(fabric),
      options_(checked(options)),
      memory_(fabric, {.bytes = options.bytes}),
      node_(std::make_shared<detail::Node>(options.data)),
      host_(std::make_shared<detail::HostCache>(fabric, options)) {
  const auto kept = std::static_pointer_cast<Kept>(
      fabric.attachment(&kKeptKey, [](dsfabric::Fabric&) { return std::make_shared<Kept>(); }));
  {
    const std::scoped_lock lock(kept->mutex);
    kept->all.push_back(node_);
    // Its memory too: puts of others may push versions into it later.
    kept->all.push_back(host_);
  }
  detail::Hello mine = host_->hello();
  mine.protocol = kProtocol;
  mine.node = reinterpret_cast<std::uint64_t>(node_.get());
  const auto all = fabric.exchange(std::as_bytes(std::span(&mine, 1)));
  std::vector<detail::Hello> hellos(all.size());
  for (std::uint16_t i = 0; i < all.size(); ++i) {
    if (all[i].size() == sizeof mine) std::memcpy(&hellos[i], all[i].data(), sizeof mine);
    const detail::Hello& its = hellos[i];
    if (its.protocol != kProtocol)
      differs(i, "it made no sharing::Space, or another version of it");
    if (its.data != mine.data || its.cached != mine.cached ||
        its.cached_bytes != mine.cached_bytes) {
      differs(i, "its SpaceOptions are others");
    }
    if (fabric.info({i}).service_threads == 0) {
      throw dtutils::Error(fmt::format("process {}", i), "it has no service thread",
                           "set dsfabric::Config::service_threads to 1");
    }
    node_->nodes.push_back(its.node);
  }
  host_->connect(hellos);
  // Nobody uses what another one has not mapped yet.
  (void)fabric.exchange({});
}

Space::~Space() = default;

}  // namespace sharing
