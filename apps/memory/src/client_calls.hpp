// SPDX-License-Identifier: MIT
// Calls of a Client to the homes of segments, and the requests that carry writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "client_state.hpp"
#include "dsfabric/call_status.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dtutils/scheduler.hpp"

namespace memory::detail {

template <class Request>
Answer ClientState::ask_here(const Request& request) {
  if (space.fabric.failed(self)) return {0, Status::kHomeFailed};
  return request.run(*space.home, self);
}

template <class Request>
Answer ClientState::ask(dsfabric::ProcessId home, Request request) {
  require_may_call();
  request.home = space.homes[home.value].address;
  dtutils::Backoff backoff;
  Resend resend;
  Used operation(*this, 0);
  for (;;) {
    Answer answer{0, Status::kAgain};
    bool answered = true;
    if (home == self) {
      answer = ask_here(request);
    } else {
      if (!operation->slot) operation->slot.emplace(space.fabric);
      const dsfabric::CallStatus status =
          channel.call_return(dsfabric::ThreadId::service_of(home), request, *operation->slot);
      if (status == dsfabric::CallStatus::kPeerGone) return {0, Status::kHomeFailed};
      answered = status == dsfabric::CallStatus::kAccepted;
      if (answered) {
        try {
          answer = operation->slot->get();
        } catch (const dsfabric::PeerFailed&) {
          return {0, Status::kHomeFailed};
        }
      }
    }
    if (answer.status != Status::kAgain) return answer;
    if (answered) resend.sent_back();
    pause(backoff);
    dtutils::Backoff until_due;
    while (!resend.due()) pause(until_due);
  }
}

template <class Request>
void ClientState::try_call(Operation& operation, const Request& request) {
  const dsfabric::ProcessId home = operation.place.home();
  if (home == self) {
    const Answer answer = ask_here(request);
    if (answer.status == Status::kAgain) {
      operation.resend.sent_back();
      operation.step = Operation::Step::kCallAgain;
      return;
    }
    if (operation.into != nullptr) std::memcpy(operation.into, &answer.value, sizeof answer.value);
    return end(operation, answer.status);
  }
  if (!operation.slot) operation.slot.emplace(space.fabric);
  switch (channel.call_return(dsfabric::ThreadId::service_of(home), request, *operation.slot)) {
    case dsfabric::CallStatus::kAccepted:
      operation.step = Operation::Step::kCall;
      return;
    case dsfabric::CallStatus::kFull:
      operation.step = Operation::Step::kCallAgain;
      return;
    case dsfabric::CallStatus::kPeerGone:
      return end(operation, Status::kHomeFailed);
  }
}

/// Calls `f` with the request that carries a write: the data themselves when they are short, else
/// where the home finds them, in `scratch` behind `data_at` bytes.
template <class F>
decltype(auto) with_write_request(const Place& place, const void* data, std::uint64_t bytes,
                                  F&& f) {
  const auto carry = [&]<std::size_t kBytes>(WriteRequest<kBytes>* /*type*/) -> decltype(auto) {
    WriteRequest<kBytes> request;  // NOLINT: only what is used is set
    request.place = place;
    request.bytes = bytes;
    if (bytes != 0) std::memcpy(request.data, data, bytes);
    // One seed is one run, to the byte.
    if (dtutils::simulated_by() != nullptr) [[unlikely]] {
      request.home = 0;
      std::memset(request.data + bytes, 0, kBytes - bytes);
    }
    return f(request);
  };
  if (bytes <= 64) return carry(static_cast<WriteRequest<64>*>(nullptr));
  if (bytes <= 256) return carry(static_cast<WriteRequest<256>*>(nullptr));
  return carry(static_cast<WriteRequest<1024>*>(nullptr));
}
inline constexpr std::uint64_t kCarriedBytes = 1024;

}  // namespace memory::detail
