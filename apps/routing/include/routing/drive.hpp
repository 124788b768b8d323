// SPDX-License-Identifier: MIT
// What programs, tests and benches do with routers: change links, wait, check, measure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "routing/router.hpp"

namespace routing {

/// Evaluates until `done`, giving way to other processes. Throws dtutils::Error that names `what`
/// after half a minute in which it did not come.
void evaluate_until(Router& router, sst::Pace& pace, const std::function<bool()>& done,
                    const char* what);

struct RandomReport {
  std::uint64_t rounds = 0;
  /// Of all routers.
  std::uint64_t changes = 0;
  /// Here.
  std::uint64_t computations = 0;
  /// Empty, or how the routes here differ from the reference.
  std::string wrong;
};

/// All routers call it with the same arguments. In each round each of them changes up to two links
/// of its own at random (of the topology mostly, others now and then; some are cut), at any time
/// within the round; then all wait until everything is known everywhere, and each checks its
/// routes. Ends early when a check fails here. A router that was dead before takes no part.
RandomReport change_at_random(Router& router, const Topology& topology, std::uint64_t rounds,
                              std::uint64_t seed);

struct Reconvergence {
  /// From the change until the first other router, and until all that live, have right routes and
  /// said so.
  double first_ns = 0;
  double all_ns = 0;
  /// Of all_ns, what this router spent on computing paths.
  double computing_ns = 0;
};
/// Changes an own link and waits; the others evaluate meanwhile.
Reconvergence reconverge(Router& router, sst::Pace& pace, RouterId to, Cost cost);

/// The topology as this router knows it, and its routes in bold, in the language of Graphviz.
std::string picture(const Router& router, const Topology& topology);

}  // namespace routing
