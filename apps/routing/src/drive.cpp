// SPDX-License-Identifier: MIT
// Random changes, waiting, measuring, drawing.
#include "routing/drive.hpp"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <random>

#include "dtutils/clock.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"

namespace routing {
namespace {

constexpr std::chrono::seconds kPatience{30};

class Changer {
 public:
  Changer(const Topology& topology, RouterId self, std::uint64_t seed)
      : random_(seed * 1'000'003 + self.value), size_(topology.size()), self_(self) {
    for (const Link& link : topology.links) {
      if (link.from == self) neighbours_.push_back(link.to);
    }
  }
  void change(Router& router) {
    const bool known = !neighbours_.empty() && below(8) != 0;
    const RouterId to = known ? neighbours_[below(neighbours_.size())]
                              : RouterId{static_cast<std::uint16_t>(below(size_))};
    if (to == self_) return;
    router.set_link(to, below(6) == 0 ? kNoLink : static_cast<Cost>(1 + below(100)));
  }
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }

 private:
  std::mt19937_64 random_;
  std::size_t size_;
  RouterId self_;
  std::vector<RouterId> neighbours_;
};

}  // namespace

void evaluate_until(Router& router, sst::Pace& pace, const std::function<bool()>& done,
                    const char* what) {
  dtutils::Deadline deadline(kPatience);
  while (!done()) {
    pace.after(router.evaluate());
    if (deadline.passed()) {
      throw dtutils::Error(fmt::format("router {}", router.id().value),
                           fmt::format("it waited too long for {}", what),
                           "see whether all routers are still running");
    }
  }
}

RandomReport change_at_random(Router& router, const Topology& topology, std::uint64_t rounds,
                              std::uint64_t seed) {
  sst::Pace pace(router.fabric());
  Changer changer(topology, router.id(), seed);
  RandomReport report;
  const std::uint64_t changes_before = router.changes();
  const std::uint64_t computations_before = router.computations();
  // Two steps a round: all has been changed, all has been checked.
  for (std::uint64_t step = router.step() + 1; report.rounds < rounds && report.wrong.empty();
       step += 2) {
    for (std::size_t i = changer.below(3); i != 0; --i) {
      changer.change(router);
      if (changer.below(2) == 0) pace.after(router.evaluate());
    }
    router.reach(step);
    evaluate_until(
        router, pace, [&] { return router.all_reached(step) && router.settled(); },
        "the changes of all");
    report.wrong = check(router.routes(), router.costs());
    router.reach(step + 1);
    evaluate_until(
        router, pace, [&] { return router.all_reached(step + 1); }, "the checks of all");
    ++report.rounds;
  }
  report.changes = router.changes() - changes_before;
  report.computations = router.computations() - computations_before;
  return report;
}

Reconvergence reconverge(Router& router, sst::Pace& pace, RouterId to, Cost cost) {
  using Clock = dtutils::Clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  };
  Reconvergence result;
  const double computing_before = router.computing_ns();
  const auto begin = Clock::now();
  router.set_link(to, cost);
  evaluate_until(
      router, pace,
      [&] {
        if (result.first_ns == 0 && router.any_other_settled()) result.first_ns = since(begin);
        return router.all_settled();
      },
      "the routes of all");
  result.all_ns = since(begin);
  if (result.first_ns == 0) result.first_ns = result.all_ns;
  result.computing_ns = router.computing_ns() - computing_before;
  return result;
}

std::string picture(const Router& router, const Topology& topology) {
  const Costs costs = router.costs();
  const auto quoted = [&](std::uint16_t i) {
    std::string name;
    for (const char letter : topology.names[i]) {
      if (letter == '"' || letter == '\\') name += '\\';
      name += letter;
    }
    return "\"" + name + "\"";
  };
  std::string text = "digraph routes {\n  layout=neato; overlap=false; node [shape=box];\n";
  auto out = std::back_inserter(text);
  for (std::uint16_t i = 0; i < router.size(); ++i) {
    const char* style = !router.alive({i})           ? " [style=dashed]"
                        : RouterId{i} == router.id() ? " [style=filled]"
                                                     : "";
    fmt::format_to(out, "  {}{};\n", quoted(i), style);
  }
  for (std::uint16_t from = 0; from < router.size(); ++from) {
    for (std::uint16_t to = 0; to < router.size(); ++to) {
      const Cost cost = costs.at({from}, {to});
      if (cost == kNoLink) continue;
      const Routes::Route& route = router.routes().to[to];
      const bool used = route.distance != kUnreachable && route.before == RouterId{from} &&
                        RouterId{to} != router.id();
      fmt::format_to(out, "  {} -> {} [label={}{}];\n", quoted(from), quoted(to), cost,
                     used ? ", penwidth=3" : ", color=gray");
    }
  }
  return text + "}\n";
}

}  // namespace routing
