// SPDX-License-Identifier: MIT
// The plan of a multicast: options and what is wrong with them, memory for the rings.
#include "multicast_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "dtutils/error.hpp"
#include "dtutils/fnv1a.hpp"
#include "sst/detail/require_upcall.hpp"

namespace sst::detail {
namespace {

using dsfabric::ProcessId;

[[noreturn]] void refuse(const MulticastOptions& options, const std::string& what,
                         const std::string& advice) {
  throw dtutils::Error(fmt::format("multicast {}", options.name), what, advice);
}

MulticastOptions checked(const TableGroup& group, MulticastOptions options) {
  if (options.members.empty()) {
    for (std::uint32_t i = 0; i < group.fabric().founders(); ++i) {
      options.members.push_back({static_cast<std::uint16_t>(i)});
    }
  }
  if (options.senders.empty()) options.senders = options.members;
  if (options.max_message == 0 || options.max_message > kMaxMessage) {
    refuse(options, fmt::format("messages of {} bytes", options.max_message),
           fmt::format("set max_message to 1 to {}", kMaxMessage));
  }
  if (options.slots != 0 && (!std::has_single_bit(options.slots) || options.slots < kMinSlots ||
                             options.slots > kMaxSlots)) {
    refuse(options, fmt::format("rings of {} slots", options.slots),
           fmt::format("use a power of two from {} to {}, or 0", kMinSlots, kMaxSlots));
  }
  for (std::size_t i = 0; i < options.senders.size(); ++i) {
    const ProcessId sender = options.senders[i];
    const auto begin = options.senders.begin();
    const auto here = begin + static_cast<std::ptrdiff_t>(i);
    if (std::find(options.members.begin(), options.members.end(), sender) ==
        options.members.end()) {
      refuse(options, fmt::format("process {} sends, but is no member", sender.value),
             "name senders that are members");
    }
    if (std::find(begin, here, sender) != here) {
      refuse(options, fmt::format("process {} is named twice as a sender", sender.value),
             "name each sender once");
    }
  }
  return options;
}

/// Whether the bytes of a write to any member come in ascending order.
bool writes_in_order(TableGroup& group, const MulticastOptions& options) {
  return std::all_of(options.members.begin(), options.members.end(), [&](ProcessId member) {
    if (member == group.fabric().process()) return true;
    dtutils::QueuePair& pair = group.transmitter(member).queue_pair();
    return pair.device().data_in_order(pair.raw(), IBV_WR_RDMA_WRITE);
  });
}

/// Members that mean different things find that out by it.
std::uint64_t digest(const MulticastOptions& options, const RingFormat& format) {
  dtutils::Fnv1a hash;
  hash.number(static_cast<std::uint64_t>(options.order));
  hash.number(options.max_message);
  hash.number(format.slots);
  hash.number(format.in_line ? 1 : 0);
  for (const ProcessId sender : options.senders) hash.number(sender.value);
  return hash.value();
}

}  // namespace

void refuse_empty_upcall(const MulticastOptions& options) {
  refuse(options, "its upcall for deliveries is empty", "give it a function of a const Message&");
}

MulticastCore::Plan::Plan(TableGroup& group, const MulticastOptions& wanted)
    : options(checked(group, wanted)),
      format(options.max_message, options.slots, writes_in_order(group, options)) {
  memory = group.fabric().general_allocator().allocate(options.senders.size() * format.bytes);
  std::memset(memory.data(), 0, memory.size());
  const auto& members = options.members;
  for (const ProcessId sender : options.senders) {
    if (sender == group.fabric().process()) own = sources.size();
    const auto member = std::find(members.begin(), members.end(), sender) - members.begin();
    sources.push_back({memory.data() + sources.size() * format.bytes,
                       MemberId{static_cast<std::uint16_t>(member)}});
  }
  row.memory_address = memory.remote().address;
  row.memory_key = memory.rkey();
  row.options = digest(options, format);
}

}  // namespace sst::detail
