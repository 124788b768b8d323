// SPDX-License-Identifier: MIT
// What the two sides of a variant get to see while one batch runs.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "bench/harness/channel.hpp"
#include "bench/harness/clock.hpp"

namespace bench {

/// Thrown by a variant that cannot run here (a program is not installed, a device is missing). The
/// variant is left out from then on, its reason is shown below the table, and the bench goes on.
/// Only process 0 may throw it, and only from a variant without an `assist`.
class Skip : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One batch. All processes leave a barrier together and then run their side of it; every process
/// has the same iterations(). Owner thread only.
class Batch {
 public:
  Batch(Channel& channel, std::uint64_t iterations, bool smoke) noexcept
      : channel_(channel), iterations_(iterations), smoke_(smoke) {}

  /// How many operations to do, chosen so that the batch lasts long enough to measure.
  std::uint64_t iterations() const noexcept { return iterations_; }
  Channel& channel() const noexcept { return channel_; }
  int rank() const noexcept { return channel_.rank(); }
  bool smoke() const noexcept { return smoke_; }

  /// Run `work`, which does iterations() operations, and give the figure that a variant returns:
  /// nanoseconds an operation, operations a second, or bytes a second.
  template <class Work>
  double ns_each(Work&& work) {
    return time_ns(work) / static_cast<double>(iterations_);
  }
  template <class Work>
  double per_second(Work&& work) {
    return static_cast<double>(iterations_) * 1e9 / time_ns(work);
  }
  template <class Work>
  double bytes_per_second(std::uint64_t bytes_each, Work&& work) {
    return static_cast<double>(bytes_each) * per_second(work);
  }

  /// Run `work` and give the nanoseconds it took, for figures of other kinds. What is not timed by
  /// one of these makes the batch no longer, unless nothing is.
  template <class Work>
  double time_ns(Work&& work) {
    const double took_ns = bench::time_ns(work);
    measured_ns_ += took_ns;
    return took_ns;
  }

  /// How long all that took; 0 when the variant measures in a way of its own.
  double measured_ms() const noexcept { return measured_ns_ / 1e6; }

 private:
  Channel& channel_;
  std::uint64_t iterations_;
  bool smoke_;
  double measured_ns_ = 0;
};

}  // namespace bench
