// SPDX-License-Identifier: MIT
// Jobs of one process whose workers start fibers themselves, without a channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "dsfabric/handler_scope.hpp"
#include "dsfabric/support/fabric_job.hpp"
#include "riutils/fiber_pool.hpp"
#include "support/require.hpp"

namespace support {

inline std::string on_workers(std::uint32_t threads,
                              const std::function<void(dsfabric::Thread&)>& work) {
  return run_job({1, threads}, 0, work);
}

/// Runs `function` as if a call of the worker to itself had arrived.
template <class F>
riutils::FiberPool::Outcome start(dsfabric::Thread& self, riutils::FiberPool& pool, F function) {
  const dsfabric::HandlerScope scope(self.fabric());
  dsfabric::CallContext call{self.fabric(), self.id(), &self};
  return pool.run(&dsfabric::detail::invoke<F>, reinterpret_cast<std::byte*>(&function),
                  sizeof function, call);
}
/// The same where nothing stands in the way.
template <class F>
void must_start(dsfabric::Thread& self, riutils::FiberPool& pool, F function) {
  require(start(self, pool, std::move(function)) == riutils::FiberPool::Outcome::kRun, "it runs");
}

}  // namespace support
