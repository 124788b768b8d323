// SPDX-License-Identifier: MIT
// Thread: a worker's face to the fabric.
#include "dsfabric/thread.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/collectives.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "dtutils/wait_hook.hpp"
#include "mesh/connections.hpp"
#include "messages/message_engine.hpp"
#include "threads/thread_registry.hpp"

namespace dsfabric {

Thread::Thread(Fabric& fabric, ThreadContext& context, ThreadRegistry& threads,
               Connections& connections, MessageEngine& messages, Collectives& collectives)
    : fabric_(fabric),
      context_(context),
      threads_(threads),
      connections_(connections),
      messages_(messages),
      collectives_(collectives),
      id_(context.name) {
  context_.worker = this;
  threads_.bind(&context_);
  dtutils::set_wait_hook({[](void* self, const dtutils::Synchronizer&, dtutils::WaitEnd) {
                            return static_cast<Thread*>(self)->progress();
                          },
                          this});
}

Thread::~Thread() {
  dtutils::set_wait_hook({});
  context_.hooks.clear();
  context_.working = false;
  threads_.bind(nullptr);
  context_.worker = nullptr;
}

ThreadId Thread::neighbour(std::int64_t distance) const noexcept {
  const auto total = static_cast<std::int64_t>(fabric_.total_threads());
  const std::int64_t there = (fabric_.rank_of(id_) + distance % total + total) % total;
  return fabric_.thread_of_rank(static_cast<std::uint32_t>(there));
}

dtutils::Transmitter& Thread::transmitter(ProcessId to) noexcept {
  return connections_.of(context_, to);
}

bool Thread::progress() {
  const bool busy = messages_.progress(context_);
  busy ? dtutils::found_something() : dtutils::found_nothing();
  return busy;
}

void Thread::add_hook(ProgressHook hook) {
  if (std::ranges::find(context_.hooks, hook) == context_.hooks.end())
    context_.hooks.push_back(hook);
}

void Thread::remove_hook(ProgressHook hook) noexcept { std::erase(context_.hooks, hook); }

bool Thread::in_handler() const noexcept { return context_.in_handler; }

void Thread::barrier() {
  collectives_.participants().require_whole_job("Thread::barrier()");
  collectives_.barrier(context_, Collective::kBarrier);
}

std::uint32_t Thread::require_rank(ThreadId root) const {
  if (fabric_.exists(root) && root.process.value < fabric_.founders()) return fabric_.rank_of(root);
  throw dtutils::Error("Thread::broadcast()", fmt::format("its root {} does not exist", root),
                       "ask Fabric::thread_of_rank for one");
}

void Thread::gather_bytes(Collective kind, std::span<const std::byte> mine,
                          std::span<std::byte> all, std::uint32_t root) {
  collectives_.participants().require_whole_job("a collective of Thread");
  collectives_.gather(context_, kind, mine, all, root);
}

}  // namespace dsfabric
