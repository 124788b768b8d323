// SPDX-License-Identifier: MIT
// Subscriptions that somebody holds: their beginning, their misses and their end.
#include "client_state.hpp"
#include "dtutils/error.hpp"
#include "memory/client.hpp"
#include "memory/detail/subscription_core.hpp"

namespace memory::detail {

SubscriptionCore::SubscriptionCore(ClientCore& client, Status known, const Place& place)
    : counters_(&client.hits_.counters), failures_(client.hits_.failures), client_(&client) {
  ClientState& state = *client.state_;
  constexpr const char* kWhat = "subscribing to global memory";
  if (known == Status::kDone) known = state.check(place, 0);
  require(known, place, kWhat, client.space_);
  if (place.kind() == Kind::kPlain) {
    throw dtutils::Error("memory::Subscription", "a plain segment has no versions to be told of",
                         "allocate it as Kind::kVersioned, or read it with Client::read");
  }
  if (state.free_words.empty()) {
    throw dtutils::Error("memory::Subscription", "the Client has no subscription left",
                         "raise ClientOptions::subscriptions, or end others");
  }
  copy_.place = place;
  copy_.data = CopyBytes(place.length);
  from_ = copy_.data.get() + place.first;
  room_ = place.length - place.first;
  const std::uint64_t* word = nullptr;
  require(state.subscribe_to(place, word), place, kWhat, client.space_);
  copy_.word = word;
}

SubscriptionCore::~SubscriptionCore() {
  if (client_ == nullptr) return;
  try {
    client_->state_->unsubscribe(copy_.place, copy_.word);
  } catch (const std::exception&) {
    // No registered memory for the request: the home goes on to write there, so the word is lost.
  }
}

Status SubscriptionCore::fetch(void* into, std::size_t bytes) {
  if (client_ == nullptr) return Status::kForeign;
  ClientState& state = *client_->state_;
  const Place& place = copy_.place;
  if (bytes > room_) return Status::kOutOfRange;
  if (bytes == 0) return Status::kDone;
  const std::uint32_t failures = failures_->load(std::memory_order_acquire);
  if (failures != failures_seen_) {
    failures_seen_ = failures;
    // Nobody tells of new versions any more.
    if (state.space.fabric.failed(place.home())) copy_.version = kNotFetched;
    if (copy_.is_current()) return read(into, bytes);
  }
  return state.fetch_whole(
      place, into, bytes, [&](const Operation& operation, std::uint64_t version) {
        state.copy_part(operation, place, {0, place.length}, {0, place.length}, copy_.data.get());
        copy_.version = version;
      });
}

}  // namespace memory::detail
