// SPDX-License-Identifier: MIT
// Results of calls that came through rings, sent through rings too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dsfabric/detail/result_batcher.hpp"

namespace riutils {

class RingSet;
namespace detail {
class OutgoingRing;
}  // namespace detail

/// Collects the results of the calls that one poll of a ring set runs, for one destination and of
/// one type at a time, and writes them to the destination's ring of results as one record. That
/// ring is made when one poll has more than one result for a worker: a single result is home as
/// soon by a write of its own, and needs no ring. Until the ring is there, and where it cannot be
/// had, results go home one by one.
///
/// Owner thread only.
class BatchedResults final : public dsfabric::detail::ResultBatcher {
 public:
  explicit BatchedResults(RingSet& ring_set) noexcept : ring_set_(ring_set) {}

  /// While it lives, results are collected; at its end they are sent. Calls that end at another
  /// time, those of fibers that have waited, send their results at once.
  class Scope {
   public:
    explicit Scope(BatchedResults& results) noexcept : results_(results) {
      results_.batching_ = true;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      results_.batching_ = false;
      results_.alone_ = kNobody;
      if (results_.ring_ != nullptr) results_.send();
    }

   private:
    BatchedResults& results_;
  };

 private:
  bool start(dsfabric::ThreadId to, std::uint32_t function, std::uint32_t bytes) noexcept override;
  void send() noexcept;

  RingSet& ring_set_;
  detail::OutgoingRing* ring_ = nullptr;
  std::uint32_t bytes_ = 0;
  bool batching_ = false;
  static constexpr dsfabric::ThreadId kNobody = dsfabric::ThreadId::service_of({});
  /// Who was sent a result by itself in this poll.
  dsfabric::ThreadId alone_ = kNobody;
  alignas(8) std::array<std::byte, 4096> buffer_;
};

}  // namespace riutils
