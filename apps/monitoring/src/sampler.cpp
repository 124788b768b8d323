// SPDX-License-Identifier: MIT
// Sampler: its thread.
#include "monitoring/sampler.hpp"

#include <array>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
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
  thread_ = dtutils::JoinableThread([this, interval] { run(interval); });
}

Sampler::~Sampler() {
  ending_.wake();
  thread_.join();
}

void Sampler::run(std::chrono::nanoseconds interval) noexcept {
  std::array wait{pollfd{ending_.fd(), POLLIN, 0}};
  const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(interval);
  for (;;) {
    // A signal may end the wait early; a copy more does no harm.
    (void)dtutils::wait_for_events(wait, rounded);
    if (wait[0].revents != 0) return;
    page_->take_figures();
    page_->make_copy();
  }
}

}  // namespace monitoring
