// SPDX-License-Identifier: MIT
// Router: the predicate and its trigger.
#include "routing/router.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "dtutils/clock.hpp"
#include "dtutils/error.hpp"

namespace routing {
namespace {

sst::TableOptions options_for(const Topology& topology, const sst::TableGroup& group,
                              std::vector<dsfabric::ProcessId> processes) {
  const std::size_t count = processes.empty() ? group.fabric().founders() : processes.size();
  if (topology.size() != count) {
    throw dtutils::Error(
        "topology",
        fmt::format("it has {} routers, but there are {} processes", topology.size(), count),
        fmt::format("start as many: scripts/run -n {}", topology.size()));
  }
  return {.members = std::move(processes), .name = "link state"};
}

}  // namespace

Router::Router(sst::TableGroup& group, const Topology& topology,
               std::vector<dsfabric::ProcessId> processes)
    : alive_(topology.size(), true),
      examined_(topology.size(), 0),
      table_(group, options_for(topology, group, std::move(processes))) {
  for (const Link& link : topology.links) {
    if (link.from == id()) table_.store(&LinkState::cost, link.to.value, link.cost);
  }
  // The fields of one push have no order among them. It counts as a change, so everybody computes.
  table_.push();
  table_.set(&LinkState::changes, 1);
  routes_ = {id(), std::vector<Routes::Route>(size())};
  routes_.to[id().value] = {0, id(), id()};
  table_.on_failure([this](sst::MemberId failed, const std::string&) {
    alive_[failed.value] = false;
    died_ = true;
  });
  table_.when([this](const State& t) { return routes_may_be_wrong(t); })
      .recurrent([this](State& t) { recompute(t); });
  table_
      .when([this](const State& t) {
        return !died_ && examined_sum_ != t.mine(&LinkState::installed);
      })
      .recurrent([this](State& t) { t.set(&LinkState::installed, examined_sum_); });
  table_
      .when([](const State& t) {
        const Request asked = t.get({0}, &LinkState::request);
        return asked.number > t.mine(&LinkState::fulfilled) && asked.from == t.self();
      })
      .recurrent([this](State& t) {
        const Request asked = t.get({0}, &LinkState::request);
        if (exists(asked.to) && asked.to != id()) set_link(asked.to, asked.cost);
        t.set(&LinkState::fulfilled, asked.number);
      });
}

void Router::set_link(RouterId to, Cost cost) noexcept {
  table_.set(&LinkState::cost, to.value, cost);
  table_.set(&LinkState::changes, table_.mine(&LinkState::changes) + 1);
}

void Router::request(RouterId from, RouterId to, Cost cost) noexcept {
  const std::uint64_t number = table_.mine(&LinkState::request).number + 1;
  table_.set(&LinkState::request, Request{number, from, to, cost});
}

bool Router::fulfilled() const noexcept {
  const Request asked = table_.mine(&LinkState::request);
  return !alive(asked.from) || table_.get(asked.from, &LinkState::fulfilled) == asked.number;
}

bool Router::row_contradicts(const State& table, RouterId from) const noexcept {
  const std::uint64_t near = routes_.to[from.value].distance;
  if (near == kUnreachable) return false;
  for (std::uint16_t i = 0; i < size(); ++i) {
    if (!alive_[i] || i == from.value) continue;
    const Cost cost = table.get(from, &LinkState::cost, i);
    const Routes::Route& far = routes_.to[i];
    if (cost != kNoLink && near + cost < far.distance) return true;
    const bool used = far.distance != kUnreachable && far.before == from && i != id().value;
    if (used && (cost == kNoLink || near + cost > far.distance)) return true;
  }
  return false;
}

bool Router::routes_may_be_wrong(const State& table) noexcept {
  if (died_) return true;
  // The sum is read first: links that are read afterwards are not older.
  const std::uint64_t sum = living_changes();
  if (sum == examined_sum_) return false;
  for (std::uint16_t i = 0; i < size(); ++i) {
    const std::uint64_t changes = table.get({i}, &LinkState::changes);
    if (changes == examined_[i]) continue;
    if (alive_[i] && row_contradicts(table, {i})) return true;
    examined_[i] = changes;
  }
  examined_sum_ = examined_sum();
  return false;
}

void Router::tell_deaths(State& table) noexcept {
  died_ = false;
  sst::RowSet dead;
  for (std::uint16_t i = 0; i < size(); ++i) {
    if (!alive_[i]) dead.add({i});
  }
  // Who sees the new set sees no sum of before it.
  table.set(&LinkState::installed, 0);
  table.set(&LinkState::dead, dead);
}

void Router::recompute(State& table) {
  if (died_) tell_deaths(table);
  for (std::uint16_t i = 0; i < size(); ++i) {
    examined_[i] = table.get({i}, &LinkState::changes);
  }
  const Costs known = costs();
  const auto begin = dtutils::Clock::now();
  routes_ = shortest_paths(known, id());
  const std::chrono::duration<double, std::nano> took = dtutils::Clock::now() - begin;
  computing_ns_ += took.count();
  ++computations_;
  examined_sum_ = examined_sum();
}

Costs Router::costs() const {
  Costs known(size());
  for (std::uint16_t from = 0; from < size(); ++from) {
    for (std::uint16_t to = 0; to < size(); ++to) {
      if (from == to || !alive_[from] || !alive_[to]) continue;
      known.at({from}, {to}) = table_.get({from}, &LinkState::cost, to);
    }
  }
  return known;
}

std::uint64_t Router::living_changes() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint16_t i = 0; i < size(); ++i) {
    if (alive_[i]) sum += table_.get({i}, &LinkState::changes);
  }
  return sum;
}

std::uint64_t Router::examined_sum() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint16_t i = 0; i < size(); ++i) {
    if (alive_[i]) sum += examined_[i];
  }
  return sum;
}

bool Router::installed(RouterId router) const noexcept {
  // The set first, see tell_deaths.
  return table_.get(router, &LinkState::dead) == table_.mine(&LinkState::dead) &&
         table_.get(router, &LinkState::installed) == living_changes();
}

bool Router::any_other_settled() const noexcept {
  for (std::uint16_t i = 0; i < size(); ++i) {
    if (i != id().value && alive_[i] && installed({i})) return true;
  }
  return false;
}

bool Router::all_settled() const noexcept {
  for (std::uint16_t i = 0; i < size(); ++i) {
    if (alive_[i] && !installed({i})) return false;
  }
  return !died_;
}

bool Router::all_reached(std::uint64_t step) const noexcept {
  for (std::uint16_t i = 0; i < size(); ++i) {
    if (alive_[i] && table_.get({i}, &LinkState::step) < step) return false;
  }
  return true;
}

}  // namespace routing
