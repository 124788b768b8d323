// SPDX-License-Identifier: MIT
// An OSPF-like router whose link-state table is an SST (the SST paper, section 5.8).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "routing/paths.hpp"
#include "routing/topology.hpp"
#include "sst/sst.hpp"

namespace routing {

/// A change that one router asks another one for.
struct Request {
  std::uint64_t number;
  RouterId from;
  RouterId to;
  Cost cost;
};

/// What a router tells all others.
struct LinkState {
  /// How often it has changed its links; pushed after the change.
  std::uint64_t changes;
  /// The sum of `changes` of all routers but `dead`, for which its routes are the shortest ones; 0
  /// before `dead` changes.
  std::uint64_t installed;
  /// Routers that it knows to have failed.
  sst::Versioned<sst::RowSet> dead;
  /// The last request that it has fulfilled.
  std::uint64_t fulfilled;
  /// For programs on top, to go step by step together.
  std::uint64_t step;
  sst::Versioned<Request> request;
  /// Of the link to each other router.
  std::array<Cost, kMaxRouters> cost;
};

/// Router number p lives in process p, or in the p-th of the processes it is given. It recomputes
/// its routes only when they may have become wrong, which one predicate tells: with d the distances
/// at the last computation,
///  - a link u -> v that a route uses became dearer or was cut, or
///  - some link u -> v became so cheap that d(u) + cost < d(v), or
///  - a router died: its links, and those to it, are gone.
/// As long as that is false, d is right: links of the routes add up to it, and no link can make it
/// shorter. (The paper asks whether a used link got dearer or an unused one cheaper. A used link
/// that gets cheaper can also attract other routes, and an unused one that gets cheaper matters
/// only in the second case.)
///
/// Only rows that have changed since are looked at.
///
/// A router believes that another one died when its table tells so (Table::on_failure: the fabric
/// calls it failed). Others may believe it earlier or later, and have seen more or less of what it
/// did last. So each says in its row whom it takes for dead, and routers count each other as
/// settled only when they say the same. As long as beliefs differ nobody is settled, and each one's
/// routes avoid whom it takes for dead itself: nothing is decided for all. One that was only
/// stopped is cut off before it counts as dead; when it wakes it believes that all who gave it up
/// are dead, and its routes are its own affair. Owner thread only: the evaluating one.
class Router {
 public:
  /// A collective of `processes` (empty: of all), as many as there are routers; else Error.
  Router(sst::TableGroup& group, const Topology& topology,
         std::vector<dsfabric::ProcessId> processes = {});
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  RouterId id() const noexcept { return table_.self(); }
  std::size_t size() const noexcept { return table_.size(); }
  const std::vector<dsfabric::ProcessId>& processes() const noexcept {
    return table_.options().members;
  }
  dsfabric::Fabric& fabric() const noexcept { return table_.group().fabric(); }

  /// Changes an own link; kNoLink cuts it.
  void set_link(RouterId to, Cost cost) noexcept;
  /// Asks its owner to change a link; one request at a time, see `fulfilled`.
  void request(RouterId from, RouterId to, Cost cost) noexcept;
  bool fulfilled() const noexcept;

  bool evaluate() { return table_.evaluate(); }
  dsfabric::ProgressHook hook() noexcept { return table_.hook(); }

  /// The routes as installed now.
  const Routes& routes() const noexcept { return routes_; }
  /// The links as this router knows them now, without those of the dead.
  Costs costs() const;
  bool alive(RouterId router) const noexcept { return alive_[router.value]; }

  /// Routes are right for all changes that this router knows of, at it, at any other one, at all
  /// that live.
  bool settled() const noexcept { return installed(id()); }
  bool any_other_settled() const noexcept;
  bool all_settled() const noexcept;

  /// Tells all others that this one has come to `step`; where it is; everyone alive is there. What
  /// a router changed before its step is known to whoever sees the step.
  void reach(std::uint64_t step) noexcept { table_.set(&LinkState::step, step); }
  std::uint64_t step() const noexcept { return table_.mine(&LinkState::step); }
  bool all_reached(std::uint64_t step) const noexcept;
  bool reached(RouterId router, std::uint64_t step) const noexcept {
    return table_.get(router, &LinkState::step) >= step;
  }

  std::uint64_t changes() const noexcept { return table_.sum(&LinkState::changes); }
  std::uint64_t computations() const noexcept { return computations_; }
  /// Of all computations together, of paths alone.
  double computing_ns() const noexcept { return computing_ns_; }

 private:
  using State = sst::Table<LinkState>;
  bool routes_may_be_wrong(const State& table) noexcept;
  bool row_contradicts(const State& table, RouterId from) const noexcept;
  void recompute(State& table);
  void tell_deaths(State& table) noexcept;
  bool installed(RouterId router) const noexcept;
  /// The sum of `changes`, without those of the dead.
  std::uint64_t living_changes() const noexcept;
  std::uint64_t examined_sum() const noexcept;
  bool exists(RouterId router) const noexcept { return router.value < size(); }

  std::vector<bool> alive_;
  bool died_ = false;
  Routes routes_;
  /// By router: its changes that the routes are right for; and their sum.
  std::vector<std::uint64_t> examined_;
  std::uint64_t examined_sum_ = 0;
  std::uint64_t computations_ = 0;
  double computing_ns_ = 0;
  State table_;
};

}  // namespace routing
