// SPDX-License-Identifier: MIT
// The registered page of a process, as peers read it, and what this process keeps beside it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "dsfabric/fabric.hpp"
#include "dtutils/limits.hpp"
#include "dtutils/rdma_memory.hpp"
#include "monitoring/board.hpp"
#include "monitoring/watcher.hpp"
#include "node_figures.hpp"

namespace monitoring::detail {

/// Changes with the layout below.
inline constexpr std::uint64_t kLayout = 0x6d6f'6e69'0000'0001;

/// What one RDMA read brings.
struct alignas(dtutils::kCacheLine) Block {
  std::uint64_t layout;
  /// Numbers that mean something; below 256, so that it is whole where words are not.
  std::uint64_t count;
  /// Of a copy: when it was made; 0: never.
  std::uint64_t sampled_at;
  std::uint64_t unused;
  std::uint64_t values[kMaxCounters];
};
static_assert(sizeof(Block) == 1024);

struct Description {
  /// Ends with a zero.
  char name[kMaxCounterName + 1];
  Kind kind;
  /// Ends with a zero, or with the field.
  char unit[kMaxUnit];
};
static_assert(sizeof(Description) == 48);

struct PageLayout {
  /// The words that counters are.
  Block live;
  /// Theirs at one time, made by a Sampler.
  Block copy;
  Description descriptions[kMaxCounters];
};

/// The page of this process: one for each fabric, until that has left the job.
class Page {
 public:
  /// Throws Error when there is no registered memory.
  explicit Page(dsfabric::Fabric& fabric);

  /// The page of this process, made and announced if need be. Throws as Board.
  static std::shared_ptr<Page> of(dsfabric::Fabric& fabric);
  /// The page that was made; nullptr when none was.
  static std::shared_ptr<Page> find(dsfabric::Fabric& fabric);
  /// Where peers read it.
  dtutils::RemoteMemoryLocator place() const { return memory_.remote(); }
  /// The name that its locator is published under.
  static std::string name_of(dsfabric::ProcessId process);

  Counter counter(std::string_view name, std::string_view unit, Kind kind);
  /// Takes new figures of the node. Any thread (takes a lock).
  void take_figures();
  /// Copies the live numbers. Any thread (takes a lock).
  void make_copy();
  /// As a peer would read it.
  void read(bool copy, Reading& into) const noexcept;

 private:
  PageLayout& layout() const noexcept { return *reinterpret_cast<PageLayout*>(memory_.data()); }

  dtutils::RDMAMemory memory_;
  std::mutex mutex_;
  std::mutex figures_mutex_;
  std::optional<NodeFigures> figures_;
};

/// What a block says; kDone, kNoSample or kOtherLayout.
Status decode(const Block& block, bool copy, Reading& into) noexcept;

}  // namespace monitoring::detail
