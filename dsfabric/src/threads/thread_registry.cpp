// SPDX-License-Identifier: MIT
// ThreadRegistry: how threads come to theirs.
#include "threads/thread_registry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dtutils/error.hpp"

namespace dsfabric {
namespace {

std::uint64_t next_fabric_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

/// The thread contexts of one thread in all fabrics; gives outside thread contexts back when the
/// thread ends.
struct ThreadRegistry::Memory {
  struct Entry {
    std::uint64_t fabric;
    ThreadContext* context;
    std::weak_ptr<Table> table;
    bool outside;
  };
  std::vector<Entry> entries;

  ~Memory() {
    for (const Entry& entry : entries) {
      if (const auto table = entry.table.lock(); table && entry.outside) {
        entry.context->taken.store(false, std::memory_order_release);
      }
    }
  }
};

ThreadRegistry::ThreadRegistry(ProcessId process, std::uint32_t processes, std::uint32_t workers,
                               std::uint32_t service_threads, std::uint32_t outside_threads)
    : id_(next_fabric_id()),
      workers_(workers),
      service_threads_(service_threads),
      contexts_(std::make_shared<Table>()) {
  for (std::uint32_t i = 0; i < workers; ++i) {
    contexts_->all.push_back(std::make_unique<ThreadContext>(
        i, ThreadId{process, static_cast<std::uint16_t>(i)}, processes));
  }
  for (std::uint32_t i = 0; i < service_threads + kLibraryContexts + outside_threads; ++i) {
    contexts_->all.push_back(
        std::make_unique<ThreadContext>(count(), ThreadId::service_of(process), processes));
  }
}

ThreadRegistry::~ThreadRegistry() {
  if (current_context().fabric == id_) {
    current_context() = {};
  }
  // A thread that ends just now may hold the table a little longer than the allocators live.
  for (const auto& context : contexts_->all) {
    context->futures.reset();
    context->send_memory.reset();
  }
}

ThreadRegistry::Memory& ThreadRegistry::memory() {
  thread_local Memory memory;
  return memory;
}

ThreadContext* ThreadRegistry::find() noexcept {
  for (const Memory::Entry& entry : memory().entries) {
    if (entry.fabric == id_) {
      current_context() = {id_, entry.context};
      return entry.context;
    }
  }
  return nullptr;
}

ThreadContext& ThreadRegistry::find_or_take() {
  if (ThreadContext* const context = find()) {
    return *context;
  }
  std::erase_if(memory().entries, [](const Memory::Entry& entry) { return entry.table.expired(); });
  for (std::size_t i = workers_ + service_threads_ + kLibraryContexts; i < contexts_->all.size();
       ++i) {
    ThreadContext& context = *contexts_->all[i];
    // Acquire: pairs with the release of the thread that had it before.
    if (!context.taken.exchange(true, std::memory_order_acquire)) {
      memory().entries.push_back({id_, &context, contexts_, true});
      current_context() = {id_, &context};
      return context;
    }
  }
  throw dtutils::Error(
      "fabric",
      fmt::format("more than {} threads that are no workers use it at the same time",
                  contexts_->all.size() - workers_ - service_threads_ - kLibraryContexts),
      "raise the setting outside_threads, or let such threads end");
}

bool ThreadRegistry::in_handler() noexcept {
  return std::ranges::any_of(memory().entries, [](const Memory::Entry& entry) {
    const auto table = entry.table.lock();
    return table != nullptr && entry.context->in_handler;
  });
}

void ThreadRegistry::bind(ThreadContext* context) {
  std::erase_if(memory().entries, [&](const Memory::Entry& entry) { return entry.fabric == id_; });
  current_context() = {};
  if (context != nullptr) {
    memory().entries.push_back({id_, context, contexts_, false});
    current_context() = {id_, context};
  }
}

}  // namespace dsfabric
