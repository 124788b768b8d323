// SPDX-License-Identifier: MIT
// Jobs whose handlers call out themselves, over any channel, and may wait.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "dsfabric/support/fork_job.hpp"
#include "dtutils/synchronizer.hpp"
#include "riutils/fiber_pool.hpp"
#include "riutils/support/ring_job.hpp"
#include "support/per_process.hpp"

namespace support {

template <class Channel>
std::unique_ptr<Channel> make_channel(dsfabric::Thread& self) {
  if constexpr (std::is_same_v<Channel, dsfabric::SendChannel>) {
    return std::make_unique<Channel>(self.fabric());
  } else {
    return std::make_unique<Channel>(self);
  }
}

/// The channel of the calling worker: handlers use it too.
template <class Channel>
Channel*& my_channel() {
  thread_local Channel* channel = nullptr;
  return channel;
}

/// Sends what a channel that gathers calls has batched.
template <class Channel>
void flush_if_gathered(Channel& channel) {
  if constexpr (requires { channel.flush(); }) (void)channel.flush();
}

/// Counters of this process.
inline std::atomic<std::uint64_t>& ledger(std::size_t index) {
  static PerProcess<std::array<std::atomic<std::uint64_t>, 4>> words;
  return (*words)[index];
}

/// What fibers wait for until the test lets them go. There from the first call on, which may come
/// before the work begins here.
inline dtutils::Synchronizer& go() {
  static PerProcess<dtutils::Synchronizer, 1u> own;
  return *own;
}

inline const riutils::FiberOptions kDefaultFibers;

/// Runs `work` on workers that have a channel and, unless `fibers` is null, a FiberPool.
template <class Channel>
std::string run_handler_job(std::uint32_t processes, std::uint32_t threads,
                            const riutils::FiberOptions* fibers,
                            const std::function<void(dsfabric::Thread&)>& work) {
  ForkJob job(processes, [&](Member& member) {
    dsfabric::Config config;
    config.threads = threads;
    dsfabric::Fabric fabric = member.join(config);
    fabric.run([&](dsfabric::Thread& self) {
      const auto pool =
          fibers != nullptr ? std::make_unique<riutils::FiberPool>(self, *fibers) : nullptr;
      const auto channel = make_channel<Channel>(self);
      my_channel<Channel>() = channel.get();
      self.barrier();
      work(self);
      self.barrier();
    });
  });
  return job.wait(std::chrono::seconds(50));
}

/// Calls `function` on `to` and waits for the result; in handlers too.
template <class Channel, class F>
auto ask(dsfabric::Fabric& fabric, dsfabric::ThreadId to, const F& function) {
  dsfabric::ReturnSlot<dsfabric::detail::CallResult<F>> slot(fabric);
  require(my_channel<Channel>()->call_return(to, function, slot), "sent");
  return slot.get();
}

}  // namespace support
