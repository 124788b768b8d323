// SPDX-License-Identifier: MIT
// TableGroups: its numbers, and the call; how a TableGroup gets to know another one by it.
#include "table_groups.hpp"

#include <mutex>
#include <utility>

#include "dsfabric/call_context.hpp"
#include "dsfabric/send_channel.hpp"

namespace sst {
namespace detail {

std::shared_ptr<TableGroups> TableGroups::of(dsfabric::Fabric& fabric) {
  static const char key = 0;
  return std::static_pointer_cast<TableGroups>(
      fabric.attachment(&key, [](dsfabric::Fabric&) { return std::make_shared<TableGroups>(); }));
}

std::uint32_t TableGroups::add(TableGroup& group) {
  const std::scoped_lock lock(mutex_);
  groups_.push_back(&group);
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

void TableGroups::remove(std::uint32_t number) {
  const std::scoped_lock lock(mutex_);
  groups_[number] = nullptr;
}

void TableGroups::keep(std::vector<dtutils::RDMAMemory> memory) {
  const std::scoped_lock lock(mutex_);
  for (dtutils::RDMAMemory& each : memory) kept_.push_back(std::move(each));
}

Introduced TableGroups::introduce(std::uint32_t number, dsfabric::ProcessId process,
                                  const dtutils::RemoteMemoryLocator& mailbox) {
  const std::scoped_lock lock(mutex_);
  if (number >= groups_.size() || groups_[number] == nullptr) return {};
  return {groups_[number]->introduce(process, mailbox), true};
}

dsfabric::RemoteFuture<Introduced> TableGroups::call(dsfabric::Fabric& fabric, std::uint32_t number,
                                                     dsfabric::ProcessId to,
                                                     const dtutils::RemoteMemoryLocator& mailbox) {
  dsfabric::SendChannel calls(fabric);
  return calls.call_return(
      dsfabric::ThreadId::service_of(to),
      [number, from = fabric.process(), mailbox](dsfabric::CallContext& call) -> Introduced {
        return of(call.fabric)->introduce(number, from, mailbox);
      });
}

}  // namespace detail

dtutils::RemoteMemoryLocator TableGroup::introduce(dsfabric::ProcessId process,
                                                   const dtutils::RemoteMemoryLocator& mailbox) {
  const std::scoped_lock lock(introducing_);
  if (!known_[process.value].load(std::memory_order_relaxed)) {
    mailboxes_[process.value] = mailbox;
    // Release: pairs with meet_first_time.
    known_[process.value].store(true, std::memory_order_release);
  }
  return mailbox_.remote();
}

void TableGroup::meet_first_time(const Meeting& meeting, dsfabric::ProcessId process) {
  if (known_[process.value].load(std::memory_order_acquire)) return;
  const auto call = [&] {
    return detail::TableGroups::call(fabric_, number_, process, mailbox_.remote());
  };
  auto answer = call();
  await(meeting, process, [&] {
    if (!answer.ready()) return false;
    const detail::Introduced theirs = answer.get();
    if (theirs.there) {
      introduce(process, theirs.mailbox);
    } else {
      answer = call();
    }
    return theirs.there;
  });
}

}  // namespace sst
