// SPDX-License-Identifier: MIT
// What the workers of the workload memory write, read and free, and what must hold of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/simulation.hpp"
#include "memory/memory.hpp"

namespace simulate {

/// A moment in the order of all that the workers do.
using Moment = std::uint64_t;
/// One that never comes.
inline constexpr Moment kNoMoment = UINT64_MAX;

/// One segment, from its allocation on. All words of it are the number of the last write, with that
/// of the segment before it.
struct Life {
  struct Write {
    Moment begun;
    /// From then on it has been executed: it returned, or somebody has read it.
    Moment known;
  };
  memory::GlobalPtr<std::uint64_t> pointer;
  /// When somebody began to free it, and had freed it.
  Moment free_begun = kNoMoment;
  Moment freed = kNoMoment;
  std::vector<Write> writes;
};

/// A segment of one word that is only added to.
struct Counter {
  memory::GlobalPtr<std::uint64_t> pointer;
  /// Additions that were begun, and those that returned.
  std::uint64_t begun = 0;
  std::uint64_t done = 0;
  /// Who has found which value before its own.
  std::vector<bool> found;
};

/// What all have done; the nodes share it.
class MemoryCourse {
 public:
  MemoryCourse(std::uint32_t nodes, std::uint32_t workers_of_a_node);

  /// The fabric of a node, from its beginning to its end.
  void begins(dsfabric::Fabric& fabric) { fabrics_[fabric.process().value] = &fabric; }
  void ends(const dsfabric::Fabric& fabric);
  /// Some node has crashed, or believes that another one has.
  bool disturbed() const;
  /// It has crashed, or another one believes it.
  bool given_up(std::uint32_t node) const;
  /// The home tells the node of what others write.
  bool is_told(std::uint32_t node, std::uint32_t home) const;
  /// Some worker still uses the homes, as far as this process knows; `but` does not count.
  bool unfinished(const dsfabric::Fabric& of, std::uint32_t but = UINT32_MAX) const;

  Moment now() noexcept { return ++now_; }
  /// The value of a new write that begins now.
  std::uint64_t begin_write(std::size_t life);
  /// It has returned kDone.
  void wrote(std::size_t life, std::uint64_t value, Moment begun);
  /// A read that began then has found this; `told`: it must be what was current.
  void read(std::size_t life, std::span<const std::uint64_t> found, Moment begun, bool told);
  /// An addition of one, when `done` was so many at its beginning, has found this.
  void added(Counter& counter, std::uint64_t found, std::uint64_t done);
  /// A read of a counter.
  void counted(const Counter& counter, std::uint64_t found, std::uint64_t done);

  void violated(std::string how) {
    if (violation.empty()) violation = std::move(how);
  }

  /// Every segment there ever was, and the one of each slot: an index, or -1 while there is none.
  std::vector<Life> lives;
  struct Slot {
    int life = -1;
    /// The worker that makes another segment; -1: nobody.
    int maker = -1;
  };
  std::vector<Slot> slots;
  /// One that is added to by its home, and one by adapters.
  Counter counters[2];
  std::vector<std::uint32_t> rounds;
  /// Workers and nodes that need no home any more.
  std::vector<bool> finished;
  std::vector<bool> over;
  /// Nodes that were told to die.
  std::uint32_t deaths = 0;
  std::string violation;

 private:
  bool believes_failed(std::uint32_t node, std::uint32_t other) const;

  const std::uint32_t workers_of_a_node_;
  Moment now_ = 0;
  /// By node; nullptr: it has ended, or not begun.
  std::vector<const dsfabric::Fabric*> fabrics_;
};

}  // namespace simulate
