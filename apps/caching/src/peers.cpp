// SPDX-License-Identifier: MIT
// Peers: the memory of this process, and what the others say of theirs.
#include "peers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"

namespace caching::detail {
namespace {

/// "caching", and the version of what its processes say to each other.
constexpr std::uint64_t kProtocol = 0x6361'6368'696e'6703;
constexpr std::uint32_t kDirectoryLeast = 64;
constexpr std::uint32_t kDirectoryMost = 1 << 28;

[[noreturn]] void differs(std::uint16_t process, const char* what) {
  throw dtutils::Error(fmt::format("process {}", process), what,
                       "let all processes make the same caching::Cache at the same point");
}

}  // namespace

Peers::Peers(dsfabric::Fabric& fabric, const CacheOptions& options)
    : fabric_(fabric), options_(options), doubts_(static_cast<std::uint16_t>(fabric.founders())) {
  if (!fabric.device().atomics) {
    throw dtutils::Error("caching::Cache", "the device has no atomics", "use another device");
  }
  if (options.bytes < kUnit || options.bytes / kUnit > kMaxUnits) {
    throw dtutils::Error(
        "caching::Cache", fmt::format("it cannot have {} bytes", options.bytes),
        fmt::format("give CacheOptions::bytes between {} and {}", kUnit, kMaxUnits * kUnit));
  }
  if (options.directory > kDirectoryMost) {
    throw dtutils::Error("caching::Cache",
                         fmt::format("a directory of {} entries", options.directory),
                         fmt::format("set CacheOptions::directory to {} at most", kDirectoryMost));
  }
  if (fabric.founders() > kMaxProcesses) {
    throw dtutils::Error("caching::Cache", "the job has too many processes",
                         fmt::format("at most {} have a cache together", kMaxProcesses));
  }
  buckets_ = std::bit_ceil(std::max(options.directory, kDirectoryLeast)) / Bucket::kWords;
  buckets_ = std::bit_ceil(buckets_);
  units_ = static_cast<std::uint32_t>(options.bytes / kUnit);
  passing_ = static_cast<std::uint32_t>(passing_units(units_));
  memory_ = fabric.general_allocator().allocate(one_at() + 2 * kLine, kUnit);
  std::memset(memory_.data(), 0, blocks_at());
  std::memset(memory_.data() + scratches_at(), 0, memory_.size() - scratches_at());
  memory_.data()[one_at()] = std::byte{1};
  for (std::uint32_t i = 0; i < buckets_; ++i) {
    own_bucket(i).epoch = std::uint64_t{self()} << kEpochBits;
  }
}

void Peers::connect(std::uint64_t node) {
  const Peer mine{kProtocol,
                  static_cast<std::uint64_t>(options_.scheme),
                  buckets_,
                  node,
                  reinterpret_cast<std::uint64_t>(memory_.data()),
                  memory_.rkey(),
                  units_,
                  options_.lends ? 1u : 0u,
                  fabric_.device().reads_in_order ? 1u : 0u};
  const auto all = fabric_.exchange(std::as_bytes(std::span(&mine, 1)));
  for (std::uint16_t process = 0; process < all.size(); ++process) {
    Peer peer{};
    if (all[process].size() == sizeof peer) std::memcpy(&peer, all[process].data(), sizeof peer);
    if (peer.protocol != kProtocol) differs(process, "it made no cache, or another version of it");
    if (peer.scheme != mine.scheme) differs(process, "its cache has another scheme");
    if (peer.buckets != mine.buckets) differs(process, "its directory has another size");
    if (fabric_.info({process}).service_threads == 0) {
      throw dtutils::Error(fmt::format("process {}", process), "it has no service thread",
                           "set dsfabric::Config::service_threads to 1");
    }
    in_order_ = in_order_ && peer.in_order != 0;
    all_.push_back(peer);
    // Now, since later a process that is stopped would hold a first contact up for longer than
    // `patience`.
    (void)fabric_.transmitter({process});
  }
  // Requests of those that have come out of this find all of it.
  (void)fabric_.exchange({});
}

std::uint16_t Peers::home_of(std::uint64_t key_hash) const noexcept {
  const auto first = static_cast<std::uint16_t>(key_hash % all_.size());
  for (std::uint16_t i = 0; i < all_.size(); ++i) {
    const auto process = static_cast<std::uint16_t>((first + i) % all_.size());
    if (usable(process)) return process;
  }
  return self();
}

Peers::Scratch::Scratch(Peers& peers) noexcept : peers_(peers) {
  dtutils::Backoff backoff;
  for (;;) {
    std::uint64_t free = peers_.free_scratches_.load(std::memory_order_relaxed);
    // Acquire: pairs with the release of who used it before.
    while (free != 0 && !peers_.free_scratches_.compare_exchange_weak(free, free & (free - 1),
                                                                      std::memory_order_acquire)) {
    }
    if (free != 0) {
      number_ = static_cast<unsigned>(std::countr_zero(free));
      break;
    }
    backoff.pause();
  }
  results_ = reinterpret_cast<Results*>(peers_.memory_.data() + peers_.scratches_at()) + number_;
}

Peers::Scratch::~Scratch() {
  peers_.free_scratches_.fetch_or(std::uint64_t{1} << number_, std::memory_order_release);
}

}  // namespace caching::detail
