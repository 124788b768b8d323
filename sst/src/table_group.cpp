// SPDX-License-Identifier: MIT
// TableGroup: connecting, offering and finding tables.
#include "sst/table_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "sst/table_limits.hpp"
#include "table_groups.hpp"

namespace sst {
namespace {

using dsfabric::ProcessId;
using dtutils::RemoteMemoryLocator;

/// What a process tells all others: where its mailbox is, and an endpoint for each of them.
struct Hello {
  RemoteMemoryLocator mailbox;
};

std::size_t scratch_size(std::uint32_t processes) { return std::size_t{processes} * kLine; }

}  // namespace

TableGroup::TableGroup(dsfabric::Fabric& fabric, const TableGroupOptions& options)
    : fabric_(fabric),
      mailboxes_(fabric.capacity()),
      known_(fabric.capacity()),
      made_(fabric.capacity()),
      taken_(fabric.capacity()),
      receives_(fabric.protection_domain().device(), 1),
      links_(std::make_shared<Links>(fabric.capacity())) {
  if (options.threads == 0) {
    throw dtutils::Error("sst::TableGroup", "it is for 0 threads",
                         "set TableGroupOptions::threads to as many as use it, at least 1");
  }
  const std::uint32_t processes = fabric.capacity();
  const std::size_t offers = processes * kOffers * sizeof(Offer);
  mailbox_ = fabric.general_allocator().allocate(offers + processes * sizeof(std::uint64_t));
  std::memset(mailbox_.data(), 0, mailbox_.size());
  links_->goodbyes = reinterpret_cast<const std::uint64_t*>(mailbox_.data() + offers);
  scratch_ = fabric.general_allocator().allocate(scratch_size(processes));
  max_inline_ = dtutils::kInline;
  auto transmitter_options = dtutils::TransmitterOptions::for_threads(options.threads);
  transmitter_options.queue_pair.receive_depth = 1;
  const auto heed = [&](dtutils::QueuePair& pair) {
    max_inline_ = std::min(max_inline_, pair.max_inline());
    bytes_in_order_ = bytes_in_order_ && pair.device().data_in_order(pair.raw(), IBV_WR_RDMA_WRITE);
  };
  const bool founder = fabric.process().value < fabric.founders();
  for (std::uint32_t i = 0; founder && i < fabric.founders(); ++i) {
    if (i == fabric.process().value) continue;
    links_->transmitters[i] = std::make_unique<dtutils::Transmitter>(
        fabric.protection_domain(), receives_, transmitter_options);
    heed(links_->transmitters[i]->queue_pair());
  }
  // The one to itself is made as those to newcomers.
  if (fabric.config().elastic != 0) heed(fabric.transmitter_of(0, fabric.process()).queue_pair());
  if (founder) {
    try {
      connect();
    } catch (...) {
      // Others may be connected with it, and go on.
      say_goodbye();
      throw;
    }
  }
  upcall_ = fabric.on_failure([weak = std::weak_ptr(links_)](ProcessId failed, const auto&) {
    if (const std::shared_ptr<Links> links = weak.lock()) links->cut_off(failed);
  });
  if (fabric.config().elastic != 0) {
    groups_ = detail::TableGroups::of(fabric);
    number_ = groups_->add(*this);
  }
  // Last: what it looks at ends with this object, and nothing that throws comes after it.
  watch_ = fabric.on_watch([weak = std::weak_ptr(links_), &fabric] {
    if (const std::shared_ptr<Links> links = weak.lock()) links->look(fabric);
  });
}

TableGroup::~TableGroup() {
  say_goodbye();
  fabric_.remove_upcall(watch_);
  fabric_.remove_upcall(upcall_);
  if (groups_) groups_->remove(number_);
  const std::scoped_lock lock(links_->ending);
  // Not clear(): an upcall for a failure may be past its weak_ptr, and look for its own next.
  for (auto& own : links_->transmitters) own.reset();
  if (!groups_) return;
  // The fabric's connections are there still.
  for (DeferredFree& deferred : deferred_frees_) groups_->keep(std::move(deferred.memory));
  std::vector<dtutils::RDMAMemory> mine;
  mine.push_back(std::move(mailbox_));
  mine.push_back(std::move(scratch_));
  groups_->keep(std::move(mine));
}

void TableGroup::connect() {
  std::vector<std::byte> mine(sizeof(Hello) + fabric_.founders() * sizeof(dtutils::Endpoint));
  const Hello hello{mailbox_.remote()};
  std::memcpy(mine.data(), &hello, sizeof hello);
  for (std::uint32_t i = 0; i < fabric_.founders(); ++i) {
    if (!links_->transmitters[i]) continue;
    const dtutils::Endpoint endpoint = links_->transmitters[i]->endpoint();
    std::memcpy(mine.data() + sizeof hello + i * sizeof endpoint, &endpoint, sizeof endpoint);
  }
  const auto all = fabric_.exchange(mine);
  for (std::uint32_t i = 0; i < fabric_.founders(); ++i) {
    if (all[i].size() != mine.size()) {
      throw dtutils::Error(fmt::format("process {}", i), "it made no TableGroup at this point",
                           "let all processes make the same Spaces in the same order");
    }
    Hello theirs;
    std::memcpy(&theirs, all[i].data(), sizeof theirs);
    mailboxes_[i] = theirs.mailbox;
    known_[i].store(true, std::memory_order_relaxed);
    if (!links_->transmitters[i]) continue;
    dtutils::Endpoint endpoint;
    std::memcpy(&endpoint,
                all[i].data() + sizeof theirs + fabric_.process().value * sizeof endpoint,
                sizeof endpoint);
    links_->transmitters[i]->connect(endpoint);
  }
  fabric_.exchange({});  // nobody writes before all are connected
}

bool TableGroup::post(ProcessId to, const RemoteMemoryLocator& where, const void* bytes,
                      std::uint32_t length) noexcept {
  dtutils::Transmitter& transmitter = this->transmitter(to);
  if (length <= max_inline_) {
    return transmitter.write({const_cast<void*>(bytes), length, 0}, where, dtutils::kInlined);
  }
  std::byte* place = scratch_.data() + to.value * kLine;
  std::memcpy(place, bytes, length);
  return transmitter.write(scratch_.local(to.value * kLine, length), where);
}

bool TableGroup::write(ProcessId to, const RemoteMemoryLocator& where, const void* bytes,
                       std::uint32_t length) noexcept {
  return post(to, where, bytes, length) &&
         (length <= max_inline_ || transmitter(to).flush(fabric_.config().start_timeout));
}

bool TableGroup::write_word(ProcessId to, const RemoteMemoryLocator& where,
                            std::uint64_t value) noexcept {
  return write(to, where, &value, sizeof value);
}

std::optional<ProcessId> TableGroup::missing(const Meeting& meeting, ProcessId awaited) const {
  if (!present(awaited)) return awaited;
  for (const ProcessId member : meeting.members) {
    const dsfabric::PeerState state = fabric_.state(member);
    const bool ended = state == dsfabric::PeerState::kLeft || links_->parted(member);
    if ((ended && !meeting.made(member)) || state == dsfabric::PeerState::kFailed) return member;
  }
  return std::nullopt;
}

void TableGroup::await(const Meeting& meeting, ProcessId process,
                       const std::function<bool()>& done) {
  dtutils::Deadline deadline(fabric_.config().start_timeout);
  dtutils::Backoff backoff;
  while (!done()) {
    const std::optional<ProcessId> gone = missing(meeting, process);
    if (gone && !done()) throw_absent(*gone, meeting.name);
    if (meeting.give_up && meeting.give_up()) {
      throw dtutils::Error(fmt::format("table {}", meeting.name),
                           fmt::format("given up before process {} made it", process.value),
                           "make another one");
    }
    if (deadline.passed()) {
      throw dtutils::Error(fmt::format("table {}", meeting.name),
                           fmt::format("process {} did not make it", process.value),
                           "let all members make the same tables: same members, row type and name");
    }
    fabric_.progress() ? backoff.reset() : backoff.pause();
  }
}

void TableGroup::make_offer(ProcessId to, const RemoteMemoryLocator& mine, std::uint64_t digest) {
  const std::uint64_t number = ++made_[to.value];
  const std::size_t at = (fabric_.process().value * kOffers + number % kOffers) * sizeof(Offer);
  const RemoteMemoryLocator& mailbox = mailboxes_[to.value];
  const Offer offer{digest, mine, 0, {}};
  // Two writes, in their order: a device may not keep the order of the bytes of one.
  if (!write(to, mailbox.part(at, sizeof offer), &offer, sizeof offer) ||
      !write_word(to, mailbox.part(at + offsetof(Offer, number), sizeof number), number)) {
    fabric_.progress();  // the next look at the peer finds out why
  }
}

const TableGroup::Offer* TableGroup::find_offer(ProcessId from,
                                                std::uint64_t digest) const noexcept {
  const auto* offers = reinterpret_cast<const Offer*>(mailbox_.data()) + from.value * kOffers;
  const Offer* oldest = nullptr;
  std::uint64_t oldest_number = 0;
  for (std::size_t i = 0; i < kOffers; ++i) {
    const std::uint64_t number = dtutils::load_device_word(&offers[i].number);
    if (number <= taken_[from.value] || dtutils::load_device_word(&offers[i].digest) != digest) {
      continue;
    }
    if (oldest == nullptr || number < oldest_number) {
      oldest = &offers[i];
      oldest_number = number;
    }
  }
  return oldest;
}

bool TableGroup::take_offer(ProcessId from, std::uint64_t digest,
                            RemoteMemoryLocator& theirs) noexcept {
  const Offer* const oldest = find_offer(from, digest);
  if (oldest == nullptr) return false;
  taken_[from.value] = dtutils::load_device_word(&oldest->number);
  theirs = oldest->memory;
  return true;
}

bool TableGroup::can_be_freed(const DeferredFree& deferred) const noexcept {
  return std::all_of(deferred.tags.begin(), deferred.tags.end(),
                     [](const dtutils::RetireTag& tag) { return tag.done(); }) &&
         std::all_of(deferred.goodbyes.begin(), deferred.goodbyes.end(),
                     [&](const DeferredFree::Goodbye& goodbye) {
                       return dtutils::load_device_word(goodbye.word) == kGoodbye ||
                              !present(goodbye.process);
                     });
}

void TableGroup::defer_free(DeferredFree deferred) {
  deferred_frees_.push_back(std::move(deferred));
}

std::vector<RemoteMemoryLocator> TableGroup::meet(const Meeting& meeting,
                                                  const RemoteMemoryLocator& mine) {
  std::erase_if(deferred_frees_,
                [&](const DeferredFree& deferred) { return can_be_freed(deferred); });
  for (const ProcessId member : meeting.members) {
    if (member == fabric_.process()) continue;
    meet_first_time(meeting, member);
    make_offer(member, mine, meeting.digest);
  }
  std::vector<RemoteMemoryLocator> all;
  for (const ProcessId member : meeting.members) {
    RemoteMemoryLocator& theirs = all.emplace_back(mine);
    if (member == fabric_.process()) continue;
    await(meeting, member, [&] { return take_offer(member, meeting.digest, theirs); });
  }
  return all;
}

}  // namespace sst
