// SPDX-License-Identifier: MIT
// Samples: finds nodes, reads them, changes their words.
#include "samples.hpp"

#include <fmt/format.h>

#include <cstring>

#include "dsfabric/call_context.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dtutils/error.hpp"

namespace adaptation::detail {
namespace {

/// A word that is read in the middle of a change is read again so often.
constexpr int kTries = 4;

}  // namespace

Samples::Samples(dsfabric::Fabric& fabric, std::uint64_t sites, const DeciderOptions& options)
    : fabric_(fabric),
      sites_(sites),
      options_(options),
      watcher_(fabric),
      calls_(fabric),
      scratch_(fabric.general_allocator().allocate(sizeof(NodePage))),
      known_(fabric.founders()),
      views_(fabric.founders()) {
  for (std::uint16_t i = 0; i < views_.size(); ++i) views_[i].process = {i};
  find_nodes();
}

void Samples::find_nodes() {
  for (const NodeView& view : views_) {
    Known& known = known_[view.process.value];
    if (known.page.length != 0 || !here(view.process)) continue;
    const dtutils::RemoteMemoryLocator page = find_page(view.process);
    if (page.length == 0) continue;
    // The place of its board is asked for by the first read: by a call, too.
    monitoring::Reading reading;
    if (watcher_.read(view.process, reading) != monitoring::Status::kDone) continue;
    known.page = page;
  }
}

dtutils::RemoteMemoryLocator Samples::find_page(dsfabric::ProcessId process) {
  dtutils::RemoteMemoryLocator page;
  try {
    const auto found = fabric_.lookup(name_of_page(process));
    if (found && found->size() == sizeof page) std::memcpy(&page, found->data(), sizeof page);
    return page;
  } catch (const dsfabric::PeerFailed&) {
    // The process that kept the name took it along: the node knows its place.
  }
  try {
    return calls_
        .call_return(dsfabric::ThreadId::service_of(process),
                     [](dsfabric::CallContext& call) { return place_of_page(call.fabric); })
        .get();
  } catch (const dtutils::Error&) {
    // It is gone, or has no memory to be a node.
    return page;
  }
}

bool Samples::here(dsfabric::ProcessId process) const noexcept {
  return process == fabric_.process() || fabric_.state(process) == dsfabric::PeerState::kActive;
}

bool Samples::read_place(dsfabric::ProcessId node, Known& known, NodeView& view) {
  for (int i = 0; i < kTries; ++i) {
    if (!fabric_.transmitter(node).blocking_read(scratch_.local(0, sizeof(NodePage)),
                                                 known.page.part(0, sizeof(NodePage)))) {
      return false;
    }
    NodePage page;
    std::memcpy(&page, scratch_.data(), sizeof page);
    if (page.serving == NodePage::kClosed) return false;
    if (page.sites != sites_) {
      throw dtutils::Error(fmt::format("node {}", node.value),
                           "it was made with another list of sites",
                           "give the same list to all nodes and deciders");
    }
    const auto place = PlaceWord::decode(page.place, node);
    if (!place) continue;
    known.place = *place;
    view.site = place->site;
    view.claimed = place->claimed;
    view.serving = {static_cast<std::uint8_t>(page.serving)};
    return true;
  }
  return false;
}

void Samples::read_figures(dsfabric::ProcessId node, Known& known, NodeView& view,
                           Clock::time_point now) {
  monitoring::Reading reading;
  if (watcher_.read(node, reading) != monitoring::Status::kDone) return;
  if (known.load < 0 || known.cached < 0) {
    const auto& counters = watcher_.counters(node, reading.count);
    for (std::size_t i = 0; i < counters.size(); ++i) {
      if (counters[i].name == options_.cached_counter) known.cached = static_cast<int>(i);
      if (counters[i].name != options_.load_counter) continue;
      known.load = static_cast<int>(i);
      known.rate = counters[i].kind == monitoring::Kind::kTotal;
    }
  }
  if (known.cached >= 0) view.cached = static_cast<double>(reading.values[known.cached]);
  if (known.load < 0) return;
  const std::uint64_t value = reading.values[known.load];
  if (!known.rate) {
    view.load = static_cast<double>(value);
    return;
  }
  const double seconds = std::chrono::duration<double>(now - known.last_read).count();
  const bool first = known.last_read == Clock::time_point{};
  if (!first && seconds <= 0) return;
  view.load = first ? 0 : static_cast<double>(value - known.last_total) / seconds;
  known.last_total = value;
  known.last_read = now;
}

void Samples::take(Clock::time_point now) {
  for (NodeView& view : views_) {
    Known& known = known_[view.process.value];
    const PlaceWord before = known.place;
    const bool was_present = view.present;
    view.present =
        known.page.length != 0 && here(view.process) && read_place(view.process, known, view);
    if (!view.present) continue;
    if (!was_present || known.place.changes != before.changes) known.since = now;
    read_figures(view.process, known, view, now);
    if (known.place.claimed && now - known.since >= options_.claim_patience) {
      (void)change(view.process, known.place.give_back());
    }
  }
}

void Samples::take_places() {
  for (NodeView& view : views_) {
    if (view.present) view.present = read_place(view.process, known_[view.process.value], view);
  }
}

Samples::Changed Samples::change(dsfabric::ProcessId node, const PlaceWord& to) noexcept {
  Known& known = known_[node.value];
  NodeView& view = views_[node.value];
  const std::uint64_t expected = known.place.encode(node);
  const auto old = fabric_.transmitter(node).blocking_compare_and_swap(
      known.page.part(offsetof(NodePage, place), sizeof(std::uint64_t)), expected, to.encode(node));
  if (!old) {
    view.present = false;
    return Changed::kGone;
  }
  if (*old != expected) return Changed::kNo;
  known.place = to;
  view.site = to.site;
  view.claimed = to.claimed;
  return Changed::kYes;
}

}  // namespace adaptation::detail
