// SPDX-License-Identifier: MIT
// Commands that are larger than a message of the group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace store {

/// Which part of a command a message is.
enum class Part : std::uint16_t {
  /// Whole commands, any number of them.
  kNone = 0,
  /// More parts follow.
  kMore = 1,
  /// The last one.
  kLast = 2,
};

/// Puts the parts of each sender together again. What has come so far is state of the store, the
/// same at all members: part 0 of a sender begins anew, whatever became of what it had begun
/// before, so nobody needs to know why a command was never finished. Owner thread only.
class Parts {
 public:
  /// Takes part `index` of a command. The whole command after its last part; else nothing.
  std::vector<std::byte> take(std::uint16_t sender, std::uint32_t index, Part part,
                              std::span<const std::byte> bytes);
  /// Appends what has come so far to a state.
  void append_to(std::vector<std::byte>& state) const;
  /// Replaces it by what append_to() has made. Throws dtutils::Error for anything else.
  void restore(std::span<const std::byte> state);

 private:
  struct Begun {
    std::uint32_t next = 0;
    std::vector<std::byte> bytes;
  };
  std::map<std::uint16_t, Begun> begun_;
};

}  // namespace store
