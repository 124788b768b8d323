// SPDX-License-Identifier: MIT
// What the workers of the workload memory write, read and free, and what must hold of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/memory.hpp"
#include "nodes_course.hpp"

namespace simulate {

/// A moment in the order of all that the workers do.
using Moment = std::uint64_t;
/// One that never comes.
inline constexpr Moment kNoMoment = UINT64_MAX;

/// One write of those of all segments; without one `life` is kNoMoment.
struct WriteName {
  std::size_t life = kNoMoment;
  std::size_t number = 0;
};

/// One segment, from its allocation on. All words of it are the number of the last write, with that
/// of the segment before it.
struct Life {
  struct Write {
    Moment begun;
    /// From then on it has been executed: it returned, or somebody has read it.
    Moment known;
    /// It is executed after this one, of the same worker at the same home.
    WriteName after{};
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
class MemoryCourse : public NodesCourse {
 public:
  using NodesCourse::NodesCourse;

  /// The home tells the node of what others write.
  bool is_told(std::uint32_t node, std::uint32_t home) const;

  Moment now() noexcept { return ++now_; }
  /// The value of a new write that begins now. `last` is that of the causal writes before it, and
  /// becomes this one; nullptr: it is not causal.
  std::uint64_t begin_write(std::size_t life, WriteName* last);
  /// It has returned kDone.
  void wrote(std::size_t life, std::uint64_t value, Moment begun);
  /// A read that began then has found this; `told`: it must be what was current.
  void read(std::size_t life, std::span<const std::uint64_t> found, Moment begun, bool told);
  /// An addition of one, when `done` was so many at its beginning, has found this.
  void added(Counter& counter, std::uint64_t found, std::uint64_t done);
  /// A read of a counter.
  void counted(const Counter& counter, std::uint64_t found, std::uint64_t done);

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

 private:
  /// It has been executed by now, and so have those that come before it.
  void is_known(WriteName name);
  /// `later` comes after `earlier`, whatever their moments are.
  bool follows(WriteName later, WriteName earlier) const;

  Moment now_ = 0;
};

}  // namespace simulate
