// SPDX-License-Identifier: MIT
// ControlService: asking, answering, and the books of both.
#include "messages/control_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "dsfabric/detail/inside.hpp"
#include "dsfabric/handler_scope.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dsfabric/send_space.hpp"
#include "dtutils/detail/scope_exit.hpp"
#include "dtutils/error.hpp"
#include "dtutils/fnv1a.hpp"
#include "dtutils/wait.hpp"
#include "threads/handler_rules.hpp"

namespace dsfabric {

using What = ControlRecord::What;

ControlService::ControlService(Fabric& fabric, const Members& members, Zones& zones,
                               ThreadRegistry& threads, Failures& failures, MessageEngine& messages)
    : fabric_(fabric),
      members_(members),
      zones_(zones),
      threads_(threads),
      failures_(failures),
      messages_(messages) {
  messages_.set_handler(MessageKind::kControl,
                        {[](void* self, const Incoming& message) {
                           return static_cast<ControlService*>(self)->handle(message);
                         },
                         this});
  const auto take_back = [this](ProcessId from, const std::string&) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(allocations_, [&](const auto& given) { return given.second.to == from; });
  };
  failures_.on_failure(take_back);
  failures_.on(JobEvent::Kind::kLeft, take_back);
}

bool ControlService::send(ProcessId to, const ControlRecord& record) {
  SendSpace space(fabric_, to, sizeof record);
  if (!space) {
    return false;
  }
  std::memcpy(space.payload(), &record, sizeof record);
  return space.commit(MessageKind::kControl, ThreadId::service_of(to));
}

ControlRecord ControlService::send_request(ProcessId to, ControlRecord request,
                                           std::string_view during) {
  ThreadContext& context = threads_.mine();
  if (context.in_handler) refuse_handlers(during);
  Slot* slot = nullptr;
  dtutils::Backoff backoff;
  for (;;) {
    {
      const std::scoped_lock lock(mutex_);
      slot = std::find_if(std::begin(slots_), std::end(slots_),
                          [](const Slot& other) { return other.ticket == 0; });
      if (slot != std::end(slots_)) {
        slot->ticket = request.ticket = ++tickets_;
        slot->answered = false;
        break;
      }
    }
    messages_.progress(context) ? backoff.reset() : backoff.pause();
  }
  // Also when a handler throws out of progress(): a late answer must find nobody.
  const dtutils::detail::ScopeExit release([&]() noexcept {
    const std::scoped_lock lock(mutex_);
    slot->ticket = 0;
  });
  request.slot = static_cast<std::uint32_t>(slot - slots_);
  const bool sent = send(to, request);
  backoff.reset();
  for (;;) {
    const bool active = failures_.active(to);
    {
      const std::scoped_lock lock(mutex_);
      if (slot->answered) {
        return slot->answer;
      }
    }
    if (!sent || !active) {
      throw PeerFailed(to, during, failures_.reason(to));
    }
    messages_.progress(context) ? backoff.reset() : backoff.pause();
  }
}

bool ControlService::handle(const Incoming& message) {
  if (message.payload.size() != sizeof(ControlRecord)) {
    return false;
  }
  ControlRecord record;
  std::memcpy(&record, message.payload.data(), sizeof record);
  if (record.name_length > Fabric::kMaxName || record.value_length > Fabric::kMaxNamedValue ||
      record.slot >= kReplySlots) {
    return false;
  }
  const std::string_view name(record.name, record.name_length);
  ControlRecord result{};
  switch (record.what) {
    case What::kAllocate:
      result = allocate_for(record, message.source.process);
      break;
    case What::kFree: {
      const std::scoped_lock lock(mutex_);
      const auto given = allocations_.find(record.number);
      if (given == allocations_.end() || given->second.to != message.source.process) {
        return false;
      }
      allocations_.erase(given);
      return true;
    }
    case What::kPublish: {
      const std::scoped_lock lock(mutex_);
      names_[std::string(name)].assign(record.value, record.value + record.value_length);
      result.good = 1;
      break;
    }
    case What::kLookup: {
      const std::scoped_lock lock(mutex_);
      if (const auto known = names_.find(name); known != names_.end()) {
        result.good = 1;
        result.value_length = static_cast<std::uint8_t>(known->second.size());
        std::copy(known->second.begin(), known->second.end(), result.value);
      }
      break;
    }
    case What::kAnswer: {
      const std::scoped_lock lock(mutex_);
      Slot& slot = slots_[record.slot];
      if (slot.ticket == record.ticket && !slot.answered) {
        slot.answer = record;
        slot.answered = true;
      }
      return true;
    }
    default:
      return false;
  }
  result.what = What::kAnswer;
  result.slot = record.slot;
  result.ticket = record.ticket;
  // Where it cannot be sent, the peer has failed, and nobody waits.
  (void)send(message.source.process, result);
  return true;
}

ControlRecord ControlService::allocate_for(const ControlRecord& request, ProcessId to) {
  ControlRecord result{};
  ZoneMemory* const zone = request.zone == ControlRecord::kDefaultZone
                               ? &zones_.first()
                               : zones_.find(dtutils::NumaZone{request.zone});
  if (zone == nullptr) {
    return result;
  }
  auto memory = zone->pieces.try_allocate(request.number);
  if (!memory) {
    return result;
  }
  dtutils::RemoteMemoryLocator where = memory->remote();
  where.process = members_.self().value;
  result.good = 1;
  result.value_length = sizeof where;
  std::memcpy(result.value, &where, sizeof where);
  const std::scoped_lock lock(mutex_);
  // Under the lock: what is given to a process before its end is handled, is taken back then.
  if (!failures_.active(to)) return {};
  result.number = ++tickets_;
  allocations_.try_emplace(result.number, Allocation{to, std::move(*memory)});
  return result;
}

RemoteMemory ControlService::allocate(ProcessId owner, std::size_t bytes,
                                      std::optional<dtutils::NumaZone> zone) {
  ControlRecord request{};
  request.what = What::kAllocate;
  request.zone = zone ? zone->node : ControlRecord::kDefaultZone;
  request.number = bytes;
  const ControlRecord answer = send_request(owner, request, "a remote allocation");
  if (answer.good == 0) {
    throw dtutils::Error(
        fmt::format("process {}", owner.value),
        fmt::format("it gave no {} bytes of registered memory{}", bytes,
                    zone ? fmt::format(" in zone {}", zone->node) : std::string()),
        bytes == 0 ? "ask for at least one byte"
                   : "ask for less, for one of the zones in ProcessInfo, or raise its setting "
                     "memory_limit");
  }
  dtutils::RemoteMemoryLocator where;
  std::memcpy(&where, answer.value, sizeof where);
  return {fabric_, where, answer.number};
}

void ControlService::free(ProcessId owner, std::uint64_t handle) noexcept {
  ControlRecord request{};
  request.what = What::kFree;
  request.number = handle;
  try {
    // A wait for room would run handlers, and what they throw could not leave here.
    const HandlerScope runs_none(fabric_);
    (void)send(owner, request);
  } catch (const dtutils::Error&) {
    // The thread may not use the fabric: its owner keeps the memory until this process ends.
  }
}

ControlRecord ControlService::named(What what, std::string_view name) const {
  if (name.empty() || name.size() > Fabric::kMaxName) {
    throw dtutils::Error("name", fmt::format("\"{}\" has {} bytes", name, name.size()),
                         fmt::format("use 1 to {}", Fabric::kMaxName));
  }
  ControlRecord request{};
  request.what = what;
  request.name_length = static_cast<std::uint8_t>(name.size());
  std::copy(name.begin(), name.end(), request.name);
  return request;
}

ProcessId ControlService::keeper_of(std::string_view name) const noexcept {
  // The same in every process, also in programs that were compiled differently.
  const std::uint64_t hash = dtutils::Fnv1a().text(name).value();
  return {static_cast<std::uint16_t>(hash % members_.founders())};
}

void ControlService::publish(std::string_view name, std::span<const std::byte> value) {
  ControlRecord request = named(What::kPublish, name);
  if (value.size() > Fabric::kMaxNamedValue) {
    throw dtutils::Error(
        fmt::format("name \"{}\"", name), fmt::format("its value has {} bytes", value.size()),
        fmt::format("use at most {}; a locator of the rest fits", Fabric::kMaxNamedValue));
  }
  request.value_length = static_cast<std::uint8_t>(value.size());
  std::copy(value.begin(), value.end(), request.value);
  (void)send_request(keeper_of(name), request, "publishing a name");
}

std::optional<std::vector<std::byte>> ControlService::lookup(std::string_view name) {
  const ControlRecord answer =
      send_request(keeper_of(name), named(What::kLookup, name), "looking up a name");
  if (answer.good == 0) {
    return std::nullopt;
  }
  return std::vector<std::byte>(answer.value, answer.value + answer.value_length);
}

void RemoteMemory::reset() noexcept {
  if (Fabric* const fabric = std::exchange(fabric_, nullptr)) {
    detail::Inside::control_service(*fabric).free({where_.process}, handle_);
  }
}

}  // namespace dsfabric
