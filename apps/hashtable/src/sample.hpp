// SPDX-License-Identifier: MIT
// A part of a table in this process, with keys to look for, to measure what a look takes.
#pragma once

#include <cstdint>
#include <vector>

#include "dsfabric/thread.hpp"
#include "hashtable/detail/attempt.hpp"
#include "hashtable/detail/home.hpp"
#include "hashtable/detail/ports.hpp"

namespace hashtable::cost {

using Request = detail::Request<1, 1>;

/// An operation on `key`, whose value is the same.
inline Request request_for(std::uint64_t key, Operation operation) noexcept {
  Request request{operation, 0, 0, {key}, {key}};
  request.hash = detail::hash_of(request.key.data(), 1);
  return request;
}

/// So that the compiler keeps the work that led to it.
inline Status used(const Request& request, Status status) noexcept {
  asm volatile("" : : "m"(request.value), "r"(status) : "memory");
  return status;
}

/// Which slots of a sample are taken.
enum class Filling : std::uint8_t {
  /// Some, and the keys to look for have the first slot of their probe order.
  kSome,
  /// Nearly all.
  kAll,
};

/// Buckets with keys from 0 on. Owner thread only.
class Sample {
 public:
  /// Throws Error when there is no memory. Setup only.
  Sample(dsfabric::Thread& self, std::uint32_t buckets, Filling filling)
      : home_(self, kShape, {.bytes = 512 << 10, .buckets = buckets}, 0) {
    const std::uint32_t slots = buckets * kShape.slots;
    // Keys come to buckets by chance: with three for each slot hardly one stays empty.
    tried_ = filling == Filling::kAll ? 3 * slots : slots * 2 / 5;
    for (std::uint64_t key = 0; key < tried_; ++key) {
      if (here(key, Operation::kInsert) != Status::kDone) continue;
      if (filling == Filling::kAll || has_first_slot(key)) keys_.push_back(key);
    }
  }

  /// The part.
  detail::Home& home() noexcept { return home_; }
  /// One of its keys, and one that it has not, for a number that was drawn.
  std::uint64_t known(std::uint64_t drawn) const noexcept { return keys_[drawn % keys_.size()]; }
  /// See known().
  std::uint64_t unknown(std::uint64_t drawn) const noexcept { return tried_ + drawn; }

  /// An operation in memory of this process; kAgain where a bucket is full.
  Status here(std::uint64_t key, Operation operation) {
    Request request = request_for(key, operation);
    detail::LocalPort port(home_);
    detail::Seen<1> seen;
    const detail::BucketWord bucket = home_.bucket_of(request.hash);
    return used(request, detail::attempt(port, bucket, request, seen, false).status);
  }

 private:
  static constexpr detail::Shape kShape = detail::shape_of(1, 1);

  bool has_first_slot(std::uint64_t key) const noexcept {
    const std::uint64_t hash = detail::hash_of(&key, 1);
    const std::uint32_t slot = detail::first_slot(hash, kShape.slots);
    return *home_.word(home_.bucket_of(hash).index(), kShape.key_at(slot)) == key;
  }

  detail::Home home_;
  std::uint64_t tried_ = 0;
  std::vector<std::uint64_t> keys_;
};

}  // namespace hashtable::cost
