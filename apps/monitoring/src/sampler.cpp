// SPDX-License-Identifier: MIT
// Sampler: its thread.
#include "monitoring/sampler.hpp"

#include "dtutils/error.hpp"
#include "page.hpp"

namespace monitoring {
namespace {

constexpr std::chrono::hours kLongest{24 * 366};

}  // namespace

Sampler::Sampler(dsfabric::Fabric& fabric, std::chrono::nanoseconds interval)
    : page_(detail::Page::of(fabric)) {
  if (interval <= std::chrono::nanoseconds(0)) {
    throw dtutils::Error("monitoring::Sampler", "its interval is not positive", "use 1 ms or more");
  }
  // The time of the next sample must be one that a clock can show.
  if (interval > kLongest) {
    throw dtutils::Error("monitoring::Sampler", "its interval is longer than a year",
                         "use a shorter one, or take no Sampler where none is needed");
  }
  // Here, so that what is wrong is thrown, and the first copy is there at once.
  page_->take_figures();
  page_->make_copy();
  thread_ = std::thread([this, interval] { run(interval); });
}

Sampler::~Sampler() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Sampler::run(std::chrono::nanoseconds interval) noexcept {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval, [this] { return ending_; })) {
    page_->take_figures();
    page_->make_copy();
  }
}

}  // namespace monitoring
