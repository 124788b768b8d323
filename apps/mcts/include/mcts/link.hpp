// SPDX-License-Identifier: MIT
// How tree nodes name each other across processes, in one word.
#pragma once

#include <cstdint>

namespace mcts {

/// Where a node is: its owner's rank among all workers of the job, and its place in the memory of
/// that worker's process, in units of kCell bytes.
struct NodeRef {
  std::uint32_t cell = 0;
  std::uint16_t rank = 0;
  friend bool operator==(const NodeRef&, const NodeRef&) = default;
};

/// What a parent knows of the place of one child. It changes once, from pending to one of the
/// others:
///
///   bit   63     62     61 ... 48 | 47 ... 32 | 31 ... 0
///         node   none              | rank      | cell         node: it is there
///         0      0      selections that wait for it           pending: it is being created
///
/// none: it is counted by its parent, but there was no memory for a node.
class Link {
 public:
  static constexpr Link pending() noexcept { return Link(0); }
  static constexpr Link none() noexcept { return Link(kNone); }
  static constexpr Link node(NodeRef at) noexcept {
    return Link(kNode | std::uint64_t{at.rank} << 32 | at.cell);
  }
  static constexpr Link of(std::uint64_t bits) noexcept { return Link(bits); }

  constexpr std::uint64_t bits() const noexcept { return bits_; }
  constexpr bool is_pending() const noexcept { return bits_ < kNone; }
  constexpr bool is_node() const noexcept { return (bits_ & kNode) != 0; }
  /// Of a pending link: how many selections wait.
  constexpr std::uint64_t waiting() const noexcept { return bits_; }
  /// Of a node.
  constexpr NodeRef at() const noexcept {
    return {static_cast<std::uint32_t>(bits_), static_cast<std::uint16_t>(bits_ >> 32)};
  }

 private:
  explicit constexpr Link(std::uint64_t bits) noexcept : bits_(bits) {}
  static constexpr std::uint64_t kNode = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kNone = std::uint64_t{1} << 62;
  std::uint64_t bits_;
};

}  // namespace mcts
