// SPDX-License-Identifier: MIT
// TableGroup: which of its connections are there, have broken, were cut, or have ended in order.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/completion_queue.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "sst/table_group.hpp"
#include "sst/table_limits.hpp"

namespace sst {
namespace {

using dsfabric::ProcessId;

constexpr const char* kBroken = "the connection of its tables broke";

}  // namespace

bool TableGroup::Links::parted(ProcessId process) const noexcept {
  return dtutils::load_device_word(&goodbyes[process.value]) == kGoodbye;
}

void TableGroup::Links::look(dsfabric::Fabric& fabric) noexcept {
  const std::scoped_lock lock(ending);
  for (std::uint16_t i = 0; i < transmitters.size(); ++i) {
    const auto& own = transmitters[i];
    if (!own || parted({i}) || fabric.state({i}) != dsfabric::PeerState::kActive) continue;
    if (!own->broken() && own->queue_pair().state() != IBV_QPS_ERR) continue;
    // Again: a process says goodbye before it ends its connections, which is what may have broken
    // this one.
    if (parted({i})) continue;
    const std::optional<ibv_wc> error = own->error();
    fabric.fail({i}, error ? fmt::format("{}: {}", kBroken, dtutils::describe(*error)) : kBroken);
  }
}

void TableGroup::Links::cut_off(ProcessId failed) noexcept {
  const std::scoped_lock lock(ending);
  // The fabric has broken its own before it called this.
  if (transmitters[failed.value]) {
    try {
      transmitters[failed.value]->queue_pair().disconnect();
    } catch (const dtutils::Error&) {
      // It is broken already.
    }
  }
  // Release, both: pair with TableGroup::cut_off() and failures().
  cut[failed.value].store(true, std::memory_order_release);
  failures.fetch_add(1, std::memory_order_release);
}

void TableGroup::say_goodbye() noexcept {
  const std::uint64_t goodbye = kGoodbye;
  const std::size_t offers = fabric_.capacity() * kOffers * sizeof(Offer);
  const std::size_t at = offers + fabric_.process().value * sizeof goodbye;
  const std::size_t processes = links_->transmitters.size();
  for (std::uint16_t i = 0; i < processes; ++i) {
    if (!links_->transmitters[i] || !known_[i]) continue;
    (void)post({i}, mailboxes_[i].part(at, sizeof goodbye), &goodbye, sizeof goodbye);
  }
  const dtutils::Deadline drained(kFlushTimeout);
  for (std::uint16_t i = 0; i < processes; ++i) {
    if (!known_[i] || fabric_.process() == ProcessId{i}) continue;
    if (!links_->transmitters[i] && !fabric_.connected({i})) continue;
    const std::chrono::nanoseconds left = drained.end() - dtutils::Clock::now();
    // When it fails, the peer is gone, and so is the need to tell it anything.
    (void)transmitter({i}).flush(std::max(left, std::chrono::nanoseconds(0)));
  }
}

bool TableGroup::present(ProcessId process) const noexcept {
  if (process == fabric_.process()) return true;
  return fabric_.state(process) == dsfabric::PeerState::kActive && !is_broken(process) &&
         !links_->parted(process);
}

bool TableGroup::is_broken(ProcessId process) const noexcept {
  if (const auto& own = links_->transmitters[process.value]) return own->broken();
  return fabric_.connected(process) && fabric_.transmitter_of(0, process).broken();
}

bool TableGroup::cut_off(ProcessId process) const noexcept {
  return fabric_.state(process) == dsfabric::PeerState::kLeft ||
         links_->cut[process.value].load(std::memory_order_acquire);
}

void TableGroup::throw_absent(ProcessId process, std::string_view name) const {
  const std::string reason = fabric_.failure_reason(process);
  const auto why = [&] {
    if (fabric_.state(process) == dsfabric::PeerState::kLeft) return "it has left";
    return links_->parted(process) ? "it has ended its TableGroup" : kBroken;
  };
  throw dsfabric::PeerFailed(process, fmt::format("making table {}", name),
                             reason.empty() ? why() : reason);
}

}  // namespace sst
