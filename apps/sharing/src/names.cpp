// SPDX-License-Identifier: MIT
// Client: names and places.
#include <fmt/format.h>

#include <cstring>

#include "control.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dtutils/error.hpp"
#include "dtutils/fnv1a.hpp"
#include "node.hpp"
#include "sharing/client.hpp"

namespace sharing {

using detail::NodeAnswer;
using detail::NodeRequest;
using Bytes = memory::GlobalPtr<std::byte>;

namespace {

/// `name` is shorter than the field.
NodeRequest request_for(std::string_view name) {
  NodeRequest request;
  std::memcpy(request.name.data(), name.data(), name.size());
  return request;
}

std::string about(std::string_view name) { return fmt::format("the shared data \"{}\"", name); }

[[noreturn]] void refuse_taken(std::string_view name) {
  throw dtutils::Error(about(name), "the name is taken", "choose another name, or find() them");
}

void check(std::string_view name, std::uint32_t bytes) {
  if (name.empty() || name.size() >= detail::kNameBytes ||
      name.find('\0') != std::string_view::npos) {
    throw dtutils::Error(about(name), "this is no name", "give 1 to 63 bytes without zeros");
  }
  if (bytes == 0 || bytes > detail::kBytesMost) {
    throw dtutils::Error(about(name), fmt::format("they cannot have {} bytes", bytes),
                         fmt::format("give 1 to {} bytes", detail::kBytesMost));
  }
}

}  // namespace

detail::NodeAnswer Client::ask(dsfabric::ProcessId process, NodeRequest& request) {
  if (process == self_.id().process) return space_.node().run(request);
  request.node = space_.node().nodes[process.value];
  dsfabric::ReturnSlot<NodeAnswer> slot(space_.fabric());
  const auto status = channel_.call_return(dsfabric::ThreadId::service_of(process), request, slot);
  if (status != dsfabric::CallStatus::kAccepted) {
    throw dsfabric::PeerFailed(process, "a request for shared data",
                               space_.fabric().failure_reason(process));
  }
  return slot.get();
}

bool Client::is_gone(dsfabric::ProcessId process) const noexcept {
  return process != self_.id().process &&
         space_.fabric().state(process) != dsfabric::PeerState::kActive;
}

Client::Keeper Client::keeper_of(std::string_view name) const noexcept {
  const std::uint64_t processes = space_.fabric().founders();
  const std::uint64_t first = dtutils::Fnv1a().text(name).value() % processes;
  // Ends here at the latest.
  std::uint64_t number = first;
  while (is_gone({static_cast<std::uint16_t>(number)})) number = (number + 1) % processes;
  return {{static_cast<std::uint16_t>(number)}, number != first};
}

detail::NodeAnswer Client::ask_keeper(std::string_view name, detail::NodeRequest& request) {
  for (;;) {
    const Keeper keeper = keeper_of(name);
    try {
      const NodeAnswer answer = ask(keeper.process, request);
      if (answer.done || !keeper.is_heir) return answer;
      // Who died may have kept it. What another process is just allocating is not there yet.
      NodeAnswer found = ask_homes(name);
      found.done = found.done && found.claimer == detail::kNobody;
      return found;
    } catch (const dsfabric::PeerFailed&) {
      if (!is_gone(keeper.process)) throw;
    }
  }
}

detail::NodeAnswer Client::ask_homes(std::string_view name) {
  NodeRequest request = request_for(name);
  request.what = NodeRequest::What::kAtHome;
  NodeAnswer best;
  for (std::uint16_t i = 0; i < space_.fabric().founders(); ++i) {
    if (is_gone({i})) continue;
    try {
      NodeAnswer answer = ask({i}, request);
      if (!answer.done) continue;
      if (answer.claimer == detail::kNobody) return answer;
      // Nobody knows whether who died in the middle of it has got the name: so it has.
      if (is_gone({answer.claimer})) answer.claimer = detail::kNobody;
      if (!best.done || answer.claimer == detail::kNobody) best = answer;
    } catch (const dsfabric::PeerFailed&) {
      if (!is_gone({i})) throw;
    }
  }
  return best;
}

Datum Client::allocate(std::string_view name, std::uint32_t bytes, Model model,
                       memory::Placement placement) {
  check(name, bytes);
  for (;;) {
    const Keeper keeper = keeper_of(name);
    // Before this one is at its home, too: of several processes at least one sees no other one.
    if (keeper.is_heir && ask_homes(name).done) refuse_taken(name);
    Datum datum = place(bytes, model, placement);
    bool numbered = false;
    try {
      number(name, datum);
      numbered = true;
      if (claim(keeper.process, name, datum)) return datum;
    } catch (const dsfabric::PeerFailed&) {
      take_back(datum, numbered);
      // The next one keeps the name then.
      if (is_gone(datum.home()) || !is_gone(keeper.process)) throw;
      continue;
    } catch (const std::exception&) {
      take_back(datum, numbered);
      throw;
    }
    take_back(datum, numbered);
    refuse_taken(name);
  }
}

Datum Client::place(std::uint32_t bytes, Model model, memory::Placement placement) {
  Datum datum;
  datum.model = model;
  datum.bytes = bytes;
  const bool plain = detail::is_plain(datum);
  datum.control =
      client_.allocate(detail::kControlBytes + (plain ? bytes : 0), placement, memory::Kind::kPlain)
          .place();
  if (plain) return datum;
  try {
    datum.data = client_
                     .allocate(detail::kWord + bytes, memory::there(datum.control.home()),
                               memory::Kind::kVersioned)
                     .place();
  } catch (const std::exception&) {
    (void)client_.free(Bytes(datum.control));
    throw;
  }
  return datum;
}

void Client::number(std::string_view name, Datum& datum) {
  NodeRequest request = request_for(name);
  request.what = NodeRequest::What::kTakeIndex;
  request.claimer = self_.id().process.value;
  request.datum = datum;
  const NodeAnswer answer = ask(datum.home(), request);
  if (!answer.done) {
    throw dtutils::Error(about(name),
                         fmt::format("process {} has no number left", datum.home().value),
                         "raise SpaceOptions::data, or free what is not used");
  }
  datum = answer.datum;
}

bool Client::claim(dsfabric::ProcessId keeper, std::string_view name, const Datum& datum) {
  NodeRequest request = request_for(name);
  request.what = NodeRequest::What::kClaim;
  request.datum = datum;
  if (!ask(keeper, request).done) return false;
  request.what = NodeRequest::What::kSettle;
  try {
    (void)ask(datum.home(), request);
  } catch (const dsfabric::PeerFailed&) {
    // As if it had died a moment later.
  }
  return true;
}

void Client::take_back(const Datum& datum, bool numbered) {
  (void)client_.free(Bytes(datum.control));
  if (!detail::is_plain(datum)) (void)client_.free(Bytes(datum.data));
  if (numbered) give_number(datum);
}

void Client::give_number(const Datum& datum) {
  NodeRequest request;
  request.what = NodeRequest::What::kGiveIndex;
  request.datum = datum;
  try {
    (void)ask(datum.home(), request);
  } catch (const dsfabric::PeerFailed&) {
    // Then it has no numbers any more.
  }
}

std::optional<Datum> Client::find(std::string_view name) {
  if (name.size() >= detail::kNameBytes) return std::nullopt;
  NodeRequest request = request_for(name);
  const NodeAnswer answer = ask_keeper(name, request);
  return answer.done ? std::optional(answer.datum) : std::nullopt;
}

Status Client::free(std::string_view name) {
  if (name.size() >= detail::kNameBytes) return Status::kFreed;
  NodeRequest request = request_for(name);
  request.what = NodeRequest::What::kForget;
  const NodeAnswer answer = ask_keeper(name, request);
  if (!answer.done) return Status::kFreed;
  const Datum& datum = answer.datum;
  Status status = detail::status_of(client_.free(Bytes(datum.control)));
  if (!detail::is_plain(datum) && status == Status::kDone) {
    status = detail::status_of(client_.free(Bytes(datum.data)));
  }
  if (status == Status::kDone) give_number(datum);
  return status;
}

}  // namespace sharing
