// SPDX-License-Identifier: MIT
// Srsl: requests as service calls.
#include "locks/srsl.hpp"

#include "dsfabric/peer_failed.hpp"
#include "dsfabric/send_channel.hpp"
#include "space_core.hpp"

namespace locks {
namespace {

using detail::Phase;
using detail::Place;
using detail::Point;
using detail::SpaceCore;
using detail::SrslRequest;
using detail::Verdict;
using detail::Worker;

SrslRequest request_of(Worker& worker, const Place& place) noexcept {
  return {place.lock, worker.number_of(place), place.mode};
}

/// Makes a service call to the home; false when it is gone. While a message waits for room its
/// sender serves, and what handlers throw then is kept.
template <class Call>
bool send(Worker& worker, Place& place, const LockAddress& lock, const Call& call) noexcept {
  dsfabric::SendChannel calls(worker.self().fabric());
  for (;;) {
    try {
      return calls.call(dsfabric::ThreadId::service_of(lock.home()), call) ==
             dsfabric::CallStatus::kAccepted;
    } catch (...) {
      worker.keep_exception(place);
    }
  }
}

}  // namespace

void Srsl::lock(Worker& worker, Place& place, const LockAddress& lock) {
  const auto ask = [space = worker.core().number(),
                    request = request_of(worker, place)](dsfabric::CallContext& call) {
    const auto core = SpaceCore::find(call.fabric, space);
    if (core) {
      core->server().request(request);
    } else {
      detail::SrslServer::refuse(call.fabric, space, request.number);
    }
  };
  worker.at(Point::kPlaced);
  if (!send(worker, place, lock, ask)) worker.lose_home(place);
  place.phase = Phase::kWaiting;
  worker.at(Point::kTold);
  const Verdict verdict = worker.wait(place);
  if (verdict == Verdict::kHomeGone) worker.throw_left(place);
  place.owner_died = verdict == Verdict::kOwnerDied;
  worker.at(Point::kGranted);
  place.phase = Phase::kHeld;
}

bool Srsl::try_lock(Worker& worker, Place& place, const LockAddress& lock) {
  dsfabric::SendChannel calls(worker.self().fabric());
  const auto ask = [space = worker.core().number(),
                    request = request_of(worker, place)](dsfabric::CallContext& call) {
    const auto core = SpaceCore::find(call.fabric, space);
    return core ? core->server().try_request(request)
                : static_cast<std::uint32_t>(Verdict::kHomeGone);
  };
  if (!worker.may_wait()) {
    worker.give_back(place);
    worker.refuse_to_wait();
  }
  auto result = calls.call_return(dsfabric::ThreadId::service_of(lock.home()), ask);
  while (!result.ready()) {
    try {
      (void)result.wait_for(std::chrono::milliseconds(10));
    } catch (...) {
      worker.keep_exception(place);
    }
  }
  std::uint32_t answer = detail::SrslServer::kRefused;
  try {
    answer = result.get();
  } catch (const dtutils::Error&) {
    worker.lose_home(place);
  }
  if (answer == detail::SrslServer::kRefused) {
    worker.give_back(place);
    return false;
  }
  const auto verdict = static_cast<Verdict>(answer);
  if (verdict == Verdict::kHomeGone) worker.throw_left(place);
  place.owner_died = verdict == Verdict::kOwnerDied;
  place.phase = Phase::kHeld;
  return true;
}

void Srsl::unlock(Worker& worker, Place& place, const LockAddress& lock) noexcept {
  worker.at(Point::kReleasing);
  const auto tell = [space = worker.core().number(),
                     request = request_of(worker, place)](dsfabric::CallContext& call) {
    if (const auto core = SpaceCore::find(call.fabric, space)) core->server().release(request);
  };
  // When the home is gone, so is the lock.
  (void)send(worker, place, lock, tell);
  worker.at(Point::kReleased);
  worker.give_back(place);
}

}  // namespace locks
