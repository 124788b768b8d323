// SPDX-License-Identifier: MIT
// Lanes: how threads come to theirs.
#include "lanes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dtutils/error.hpp"

namespace dsfabric {
namespace {

/// The watch thread's and the home thread's.
constexpr std::uint32_t kLibraryLanes = 2;

std::uint64_t next_fabric_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

/// The lanes of one thread in all fabrics; gives outside lanes back when the thread ends.
struct Lanes::Memory {
  struct Entry {
    std::uint64_t fabric;
    Lane* lane;
    std::weak_ptr<Table> table;
    bool outside;
  };
  std::vector<Entry> entries;

  ~Memory() {
    for (const Entry& entry : entries) {
      if (const auto table = entry.table.lock(); table && entry.outside) {
        entry.lane->taken.store(false, std::memory_order_release);
      }
    }
  }
};

Lanes::Lanes(ProcessId process, std::uint32_t workers, std::uint32_t service_threads,
             std::uint32_t outside_threads)
    : id_(next_fabric_id()),
      workers_(workers),
      service_threads_(service_threads),
      lanes_(std::make_shared<Table>()) {
  for (std::uint32_t i = 0; i < workers; ++i) {
    lanes_->all.push_back(
        std::make_unique<Lane>(i, ThreadId{process, static_cast<std::uint16_t>(i)}));
  }
  for (std::uint32_t i = 0; i < service_threads + kLibraryLanes + outside_threads; ++i) {
    lanes_->all.push_back(std::make_unique<Lane>(count(), ThreadId::service_of(process)));
  }
}

Lanes::~Lanes() {
  if (current_lane().fabric == id_) {
    current_lane() = {};
  }
  // A thread that ends just now may hold the table a little longer than the allocators live.
  for (const auto& lane : lanes_->all) {
    lane->send_memory.reset();
  }
}

Lanes::Memory& Lanes::memory() {
  thread_local Memory memory;
  return memory;
}

Lane* Lanes::find() noexcept {
  for (const Memory::Entry& entry : memory().entries) {
    if (entry.fabric == id_) {
      current_lane() = {id_, entry.lane};
      return entry.lane;
    }
  }
  return nullptr;
}

Lane& Lanes::find_or_take() {
  if (Lane* const lane = find()) {
    return *lane;
  }
  std::erase_if(memory().entries, [](const Memory::Entry& entry) { return entry.table.expired(); });
  for (std::size_t i = workers_ + service_threads_ + kLibraryLanes; i < lanes_->all.size(); ++i) {
    Lane& lane = *lanes_->all[i];
    // Acquire: pairs with the release of the thread that had it before.
    if (!lane.taken.exchange(true, std::memory_order_acquire)) {
      memory().entries.push_back({id_, &lane, lanes_, true});
      current_lane() = {id_, &lane};
      return lane;
    }
  }
  throw dtutils::Error(
      "fabric",
      fmt::format("more than {} threads that are no workers use it at the same time",
                  lanes_->all.size() - workers_ - service_threads_ - kLibraryLanes),
      "raise the setting outside_threads, or let such threads end");
}

void Lanes::adopt(Lane* lane) {
  std::erase_if(memory().entries, [&](const Memory::Entry& entry) { return entry.fabric == id_; });
  current_lane() = {};
  if (lane != nullptr) {
    memory().entries.push_back({id_, lane, lanes_, false});
    current_lane() = {id_, lane};
  }
}

}  // namespace dsfabric
