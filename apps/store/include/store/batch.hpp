// SPDX-License-Identifier: MIT
// Commands as they lie in a message of the group, and in the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "store/commands.hpp"
#include "store/database.hpp"
#include "store/parts.hpp"

namespace store {

/// A message has this head, and then updates without a gap:
///
///     0        8          12       14     16
///     | time   | updates  | sender | part | id, count | length, bytes | ... | id, count | ...
///
/// or, where `part` says so, the next bytes of one command, or transaction, that is larger than a
/// message. A message without updates gives the reads of its sender a place in the order, and a
/// time.
struct BatchHead {
  /// The sender's clock: milliseconds since 1970.
  std::uint64_t time;
  /// Commands that follow, those inside of transactions too; of a part: its number, from 0.
  std::uint32_t updates;
  /// The process that has sent it.
  std::uint16_t sender;
  Part part;
};
static_assert(sizeof(BatchHead) == 16 && std::is_trivially_copyable_v<BatchHead>);

/// Bytes that append_command() appends.
inline std::size_t command_bytes(Arguments arguments) noexcept {
  std::size_t bytes = 4;
  for (const std::string_view argument : arguments) bytes += 4 + argument.size();
  return bytes;
}

/// Appends a command: the id and the count of arguments in one word, then each with its length.
inline void append_command(std::vector<std::byte>& to, CommandId id, Arguments arguments) {
  const std::size_t before = to.size();
  to.resize(before + command_bytes(arguments));
  std::byte* at = to.data() + before;
  const auto put = [&at](const void* data, std::size_t bytes) {
    std::memcpy(at, data, bytes);
    at += bytes;
  };
  const auto word = [&put](std::size_t value) {
    const auto narrow = static_cast<std::uint32_t>(value);
    put(&narrow, sizeof narrow);
  };
  word(arguments.size() << 8 | static_cast<std::size_t>(id));
  for (const std::string_view argument : arguments) {
    word(argument.size());
    if (!argument.empty()) put(argument.data(), argument.size());
  }
}

/// Reads commands one after the other. What it hands out points into the bytes.
class CommandReader {
 public:
  explicit CommandReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  /// The next command; false at the end, and for what append_command() has not made.
  bool next() {
    std::uint32_t head = 0;
    arguments_.clear();
    if (!word(head)) return false;
    id_ = static_cast<CommandId>(head & 0xff);
    count_ = head >> 8;
    if (id_ == CommandId::kExec) return true;
    for (std::uint32_t i = 0; i < count_; ++i) {
      std::uint32_t size = 0;
      if (!word(size) || bytes_.size() < size) return false;
      arguments_.emplace_back(reinterpret_cast<const char*>(bytes_.data()), size);
      bytes_ = bytes_.subspan(size);
    }
    return true;
  }
  CommandId id() const noexcept { return id_; }
  /// Of arguments; for kExec, which has none here, of the commands that follow.
  std::uint32_t count() const noexcept { return count_; }
  Arguments arguments() const noexcept { return arguments_; }

 private:
  bool word(std::uint32_t& value) noexcept {
    if (bytes_.size() < sizeof value) return false;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return true;
  }

  std::span<const std::byte> bytes_;
  CommandId id_{};
  std::uint32_t count_ = 0;
  std::vector<std::string_view> arguments_;
};

}  // namespace store
