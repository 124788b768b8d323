// SPDX-License-Identifier: MIT
// A router of a test, in a process of its own.
#pragma once

#include <functional>

#include "dsfabric/support/fork_job.hpp"
#include "routing/drive.hpp"

namespace support {

struct RouterNode {
  RouterNode(Member& member, const routing::Topology& topology)
      : fabric(member.join(config())), group(fabric), router(group, topology), pace(fabric) {}
  static dsfabric::Config config() {
    dsfabric::Config config;
    config.threads = 1;
    config.service_threads = 0;
    return config;
  }
  void until(const std::function<bool()>& done, const char* what) {
    routing::evaluate_until(router, pace, done, what);
  }

  dsfabric::Fabric fabric;
  sst::TableGroup group;
  routing::Router router;
  sst::Pace pace;
};

}  // namespace support
