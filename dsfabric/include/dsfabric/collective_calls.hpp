// SPDX-License-Identifier: MIT
// The collectives with values, written once: for all workers of the job, and for groups of them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsfabric/detail/object_bytes.hpp"
#include "dsfabric/ids.hpp"

namespace dsfabric {

/// The kinds of collectives. The kind travels along, so that workers that are in different
/// collectives find out.
enum class Collective : std::uint8_t {
  kBarrier = 1,
  kAllGather,
  kAllReduce,
  kBroadcast,
  kTermination,
  kRunBegins,
  kRunEnds,
  kGroupBegins,
};

/// A value that may travel through a collective.
template <class T>
concept CollectiveValue = std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>;

/// Mixed into Thread, for all workers of the job, and into Group, for its members: "all" below.
///
/// All call the same collectives in the same order. They serve incoming messages while they wait,
/// and throw PeerFailed as soon as a process of one of them has failed or left, or as one of them
/// has thrown it, which believes that; from then on, always. Workers that are in
/// different collectives, or give values of different sizes or different roots, get an Error that
/// names both (or, in another process than the one that finds out, PeerFailed with that reason). A
/// handler, a fiber too, gets an Error. Owner thread only.
template <class All>
class CollectiveCalls {
 public:
  /// Everyone's value, by rank. Other workers that have the values may call this one before it
  /// returns: where their handlers need the result, call a barrier afterwards.
  template <CollectiveValue T>
  std::vector<T> all_gather(const T& mine) {
    return gather_values(Collective::kAllGather, mine);
  }

  /// `combine` over all values, from left to right by rank. All workers get the same result, also
  /// for an operation that rounds.
  template <CollectiveValue T, class Combine = std::plus<T>>
  requires std::is_invocable_r_v<T, Combine&, const T&, const T&>
  T all_reduce(const T& mine, Combine combine = {}) {
    const std::vector<T> values = gather_values(Collective::kAllReduce, mine);
    T result = values.front();
    for (std::size_t i = 1; i < values.size(); ++i) {
      result = combine(std::as_const(result), values[i]);
    }
    return result;
  }

  /// The value that `root` gives; what the others give is ignored. All name the same root.
  template <CollectiveValue T>
  T broadcast(const T& mine, ThreadId root) {
    const std::uint32_t rank = all().require_rank(root);
    std::vector<T> values(all().workers());
    all().gather_bytes(Collective::kBroadcast, detail::ObjectBytes<T>(mine).span(),
                       std::as_writable_bytes(std::span(values)), rank);
    return values[rank];
  }

 private:
  All& all() noexcept { return static_cast<All&>(*this); }

  template <CollectiveValue T>
  std::vector<T> gather_values(Collective kind, const T& mine) {
    std::vector<T> values(all().workers());
    all().gather_bytes(kind, detail::ObjectBytes<T>(mine).span(),
                       std::as_writable_bytes(std::span(values)), 0);
    return values;
  }
};

}  // namespace dsfabric
