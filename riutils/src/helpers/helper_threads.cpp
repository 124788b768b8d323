// SPDX-License-Identifier: MIT
// HelperThreads and Delegation: who polls for whom.
#include "riutils/helper_threads.hpp"

#include <algorithm>

#include "dtutils/error.hpp"
#include "helpers/helper.hpp"
#include "riutils/ring_set.hpp"

namespace riutils {

HelperThreads::HelperThreads(dsfabric::Fabric& fabric, const HelperOptions& options) {
  if (options.threads == 0) {
    throw dtutils::Error("HelperThreads", "no threads were requested",
                         "request at least one thread");
  }
  for (std::uint32_t i = 0; i < options.threads; ++i) {
    helpers_.push_back(std::make_unique<Helper>(fabric, options.fibers));
  }
}

HelperThreads::~HelperThreads() = default;

Delegation::Delegation(HelperThreads& helpers, dsfabric::Thread& self)
    : self_(self),
      helper_(**std::ranges::min_element(helpers.helpers_, {},
                                         [](const auto& helper) { return helper->load(); })),
      work_(std::make_unique<Work>(RingSet::of(self).receiver())) {
  self.add_hook({&Work::rethrow, work_.get()});
  RingSet::of(self).delegate(true);
  helper_.add(*work_);
}

Delegation::~Delegation() {
  helper_.remove(*work_, self_);
  RingSet::of(self_).delegate(false);
  self_.remove_hook({&Work::rethrow, work_.get()});
}

}  // namespace riutils
