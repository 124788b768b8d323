// SPDX-License-Identifier: MIT
// Node: its page, and following the moves that deciders make.
#include "adaptation/node.hpp"

#include <fmt/format.h>

#include <atomic>
#include <span>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/error.hpp"
#include "dtutils/rdma_memory.hpp"
#include "place_word.hpp"

namespace adaptation {
namespace detail {

/// The page of this process, which lives until the fabric has left the job: others may read it.
class NodeMemory {
 public:
  explicit NodeMemory(dsfabric::Fabric& fabric)
      : memory_(fabric.general_allocator().allocate(sizeof(NodePage))) {
    page() = {0, NodePage::kClosed, 0};
  }

  static std::shared_ptr<NodeMemory> of(dsfabric::Fabric& fabric) {
    static constexpr char key = 0;
    return std::static_pointer_cast<NodeMemory>(fabric.attachment(
        &key, [](dsfabric::Fabric& its) { return std::make_shared<NodeMemory>(its); }));
  }

  NodePage& page() const noexcept { return *reinterpret_cast<NodePage*>(memory_.data()); }
  dtutils::RemoteMemoryLocator remote() const noexcept { return memory_.remote(); }
  std::atomic_ref<std::uint64_t> place() const noexcept { return std::atomic_ref(page().place); }
  std::atomic_ref<std::uint64_t> serving() const noexcept {
    return std::atomic_ref(page().serving);
  }

 private:
  dtutils::RDMAMemory memory_;
};

std::string name_of_page(dsfabric::ProcessId node) {
  return fmt::format("adaptation.node.{}", node.value);
}

dtutils::RemoteMemoryLocator place_of_page(dsfabric::Fabric& fabric) {
  return NodeMemory::of(fabric)->remote();
}

namespace {

/// With all in it but what opens it to deciders.
std::shared_ptr<NodeMemory> prepare(dsfabric::Fabric& fabric, const std::vector<Site>& sites,
                                    SiteId site) {
  const std::uint64_t digest = check(sites);
  if (site.value >= sites.size()) {
    throw dtutils::Error("node", fmt::format("there is no site {}", site.value),
                         fmt::format("the list has sites 0 to {}", sites.size() - 1));
  }
  auto memory = NodeMemory::of(fabric);
  if (memory->serving() != NodePage::kClosed) {
    throw dtutils::Error("node", "this process is a node already", "make one Node a process");
  }
  const auto before = PlaceWord::decode(memory->place(), fabric.process());
  PlaceWord place{site, site, false, 0};
  if (before) place.changes = (before->changes + 1) & PlaceWord::kChanges;
  memory->page().sites = digest;
  memory->place().store(place.encode(fabric.process()), std::memory_order_relaxed);
  return memory;
}

}  // namespace
}  // namespace detail

Node::Node(dsfabric::Fabric& fabric, const std::vector<Site>& sites, SiteId site)
    : self_(fabric.process()),
      memory_(detail::prepare(fabric, sites, site)),
      board_(fabric),
      load_(board_.counter("adaptation.load", "", monitoring::Kind::kLevel)),
      cached_(board_.counter("adaptation.cached", "B", monitoring::Kind::kLevel)),
      site_counter_(board_.counter("adaptation.site", "", monitoring::Kind::kLevel)),
      serving_(site) {
  load_.set(0);
  cached_.set(0);
  const dtutils::RemoteMemoryLocator place = memory_->remote();
  try {
    fabric.publish(detail::name_of_page(self_), std::as_bytes(std::span(&place, 1)));
  } catch (const dsfabric::PeerFailed&) {
    // Nobody keeps that name any more, so deciders ask this process.
  }
  // Last: when something above throws, this process is no node. Who finds it open finds the rest.
  serve(site);
}

Node::~Node() { memory_->serving().store(detail::NodePage::kClosed, std::memory_order_release); }

SiteId Node::site() const noexcept {
  // A device that executes an atomic in parts is done with it soon; until then nothing has changed.
  const auto place =
      detail::PlaceWord::decode(memory_->place().load(std::memory_order_acquire), self_);
  return place ? place->site : serving_;
}

std::optional<Move> Node::moved() const noexcept {
  const SiteId wanted = site();
  if (wanted == serving_) return {};
  return Move{self_, serving_, wanted};
}

void Node::serve(SiteId site) noexcept {
  serving_ = site;
  site_counter_.set(site.value);
  memory_->serving().store(site.value, std::memory_order_release);
}

}  // namespace adaptation
