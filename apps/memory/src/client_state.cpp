// SPDX-License-Identifier: MIT
// ClientState: its memory, waiting, and the end of it.
#include "client_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "dtutils/error.hpp"
#include "dtutils/option_memory.hpp"
#include "dtutils/wait_hook.hpp"

namespace memory::detail {
namespace {

/// Polls of one connection before a waiter does other work.
constexpr int kPolls = 64;
/// Time in which a worker that waits for a device serves others.
constexpr std::chrono::microseconds kServes{100};
/// Bytes of scratch at least, so that most operations never need more.
constexpr std::uint64_t kScratch = 1024;

std::size_t cache_bytes(const SpaceState& space, const ClientOptions& options) {
  return options.cache_bytes != 0 ? options.cache_bytes : space.options.bytes / 10 * 3;
}

bool step_of_hook(void* state) { return static_cast<ClientState*>(state)->progress(); }

}  // namespace

ClientState::ClientState(std::shared_ptr<SpaceState> its_space, const ClientOptions& its_options)
    : space_owner(std::move(its_space)),
      space(*space_owner),
      options(its_options),
      self(space.fabric.process()),
      worker(space.fabric.current_thread()),
      channel(space.fabric),
      hits(space.failures),
      cache(cache_bytes(space, its_options), hits),
      next_home(self.value) {
  if (options.subscriptions > kMaxSubscriptions) {
    throw dtutils::Error(
        "memory::Client", fmt::format("it cannot have {} subscriptions", options.subscriptions),
        fmt::format("set ClientOptions::subscriptions to {} at most", kMaxSubscriptions));
  }
  words = dtutils::allocate_for_option(space.fabric.general_allocator(),
                                       std::max(1u, options.subscriptions) * kWord,
                                       "memory::Client", "ClientOptions::subscriptions");
  std::memset(words.data(), 0, words.size());
  const auto* const first = reinterpret_cast<const std::uint64_t*>(words.data());
  for (std::uint32_t i = options.subscriptions; i-- > 0;) free_words.push_back(first + i);
  sink = space.fabric.general_allocator().allocate(kLine);
  if (worker != nullptr) {
    const auto& zones = space.fabric.info(self).zones;
    const auto found = std::find_if(zones.begin(), zones.end(), [&](dtutils::NumaZone each) {
      return each.node == worker->zone().node;
    });
    if (found != zones.end()) zone = static_cast<std::uint32_t>(found - zones.begin());
    worker->add_hook({step_of_hook, this});
  }
  const std::scoped_lock lock(space.clients_mutex);
  number = static_cast<std::size_t>(std::find(space.clients.begin(), space.clients.end(), false) -
                                    space.clients.begin());
  if (number == space.clients.size()) space.clients.push_back(false);
  space.clients[number] = true;
  // As many Clients of a process lock for reading as it has bits; further ones read without.
  const std::uint64_t bits = Home::readers_of(self, space.fabric.founders());
  if (bits != 0) {
    const std::uint64_t bit = (bits & ~(bits - 1)) << number;
    reader_bit = number < kReaderBits && (bit & bits) != 0 ? bit : 0;
  }
}

ClientState::~ClientState() {
  try {
    while (Cache::Entry* const entry = cache.any()) evict(*entry);
    while (!started.empty()) serve();
    // What is unlocked without waiting uses the sink.
    for (std::uint16_t i = 0; i < space.homes.size(); ++i) {
      (void)space.fabric.transmitter({i}).flush(std::chrono::seconds(1));
    }
  } catch (const std::exception&) {
    // A handler that ran meanwhile failed. The memory of what is under way is kept forever.
    for (auto& each : operations) (void)each.release();
  }
  if (worker != nullptr) worker->remove_hook({step_of_hook, this});
  const std::scoped_lock lock(space.clients_mutex);
  space.clients[number] = false;
}

void ClientState::prepare_one(std::uint64_t scratch_bytes) {
  std::erase_if(in_use, [&](Operation* each) {
    if (!each->arrived.done()) return false;
    free.push_back(each);
    return true;
  });
  if (free.empty()) {
    operations.push_back(std::make_unique<Operation>());
    free.push_back(operations.back().get());
  }
  Operation& operation = *free.back();
  if (!operation.scratch || operation.scratch.size() < scratch_bytes) {
    operation.scratch =
        space.fabric.general_allocator().allocate(std::max(scratch_bytes, kScratch), kLine);
  }
}

bool ClientState::await_long(Operation& operation) {
  for (int i = 0; i < kPolls; ++i) {
    if (const auto outcome = operation.arrived.outcome()) {
      return *outcome == dtutils::Synchronizer::Outcome::kDone;
    }
    operation.transmitter->progress();
  }
  if (worker != nullptr) {
    // A worker that serves polls its connections one by one, and seldom while messages come, as
    // requests do that are sent back until this operation has ended. This is the one that counts.
    for (;;) {
      const auto outcome = operation.arrived.wait_for(kServes);
      if (outcome != dtutils::Synchronizer::Outcome::kTimeout) {
        return outcome == dtutils::Synchronizer::Outcome::kDone;
      }
      operation.transmitter->progress();
    }
  }
  return operation.transmitter->wait(operation.arrived) == dtutils::Synchronizer::Outcome::kDone;
}

void ClientState::pause(dtutils::Backoff& backoff) {
  if (worker != nullptr) {
    // Serves, or lets the other fibers run.
    dtutils::Synchronizer never(1);
    (void)never.wait_for(std::chrono::microseconds(1));
    backoff.pause();
  } else {
    space.fabric.progress() ? backoff.reset() : backoff.pause();
  }
}

bool ClientState::may_call() const noexcept {
  return worker == nullptr || !worker->in_handler() || dtutils::wait_is_put_aside();
}

void ClientState::require_may_call() const {
  if (!may_call()) {
    throw dtutils::Error("memory::Client",
                         "a call to a home would wait in a handler outside a fiber",
                         "use start_..., a fiber, or a one-sided read");
  }
}

void ClientState::unlock(const Place& place, std::uint64_t held) noexcept {
  dtutils::Transmitter& to = transmitter(place);
  // A home that is gone needs nothing.
  if (to.fetch_and_add(sink.local(0, kWord), at(place, 0, kWord), ~held + 1)) {
    (void)to.recycle(sink);
  }
}

void ClientState::notice_failures() {
  hits.failures_seen = space.failures.load(std::memory_order_acquire);
  cache.for_each([&](Cache::Entry& entry) {
    if (!space.fabric.failed(entry.place.home())) return;
    if (entry.is_subscribed()) free_words.push_back(entry.word);
    cache.erase(entry);
  });
}

}  // namespace memory::detail
