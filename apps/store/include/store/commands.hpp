// SPDX-License-Identifier: MIT
// The commands that the store knows.
#pragma once

#include <cstdint>
#include <string_view>

namespace store {

/// Numbers of commands. Those of updates are in messages and in logs, so they stay as they are.
enum class CommandId : std::uint8_t {
  // Updates: run at all members, in one order.
  kSet = 1,
  kSetNx,
  kSetEx,
  kPSetEx,
  kGetSet,
  kGetDel,
  kDel,
  kIncr,
  kDecr,
  kIncrBy,
  kDecrBy,
  kAppend,
  kMSet,
  kExpire,
  kPExpire,
  kExpireAt,
  kPExpireAt,
  kPersist,
  kFlushAll,
  kPublish,
  /// Its argument count is the number of commands that follow, which are one transaction.
  kExec,
  /// Before a kExec: keys, each with the number of its last change. The transaction comes to
  /// nothing when one has changed.
  kIfUnchanged,
  // Reads: run where they were sent.
  kGet = 64,
  kExists,
  kStrLen,
  kMGet,
  kTtl,
  kPTtl,
  kScan,
  kKeys,
  kDbSize,
  kType,
  // Of the connection.
  kMulti = 128,
  kDiscard,
  kWatch,
  kUnwatch,
  kSubscribe,
  kUnsubscribe,
  kPing,
  kEcho,
  kInfo,
  kStatus,
  kCommand,
  kConfig,
  kClient,
  kSelect,
  kQuit,
  kReadOnly,
  kReadWrite,
  /// A reply that was made before, in its place among the others.
  kCanned,
};

/// It changes the state, or is seen by all members.
constexpr bool is_update(CommandId id) noexcept { return id < CommandId::kGet; }
/// It looks at the state.
constexpr bool is_read(CommandId id) noexcept {
  return id >= CommandId::kGet && id < CommandId::kMulti;
}

/// A command as clients know it.
struct CommandInfo {
  /// In lower case.
  std::string_view name;
  /// Which one it is.
  CommandId id;
  /// Arguments with the name: exactly so many, or, when negative, at least so many.
  int arity;
};

/// The command of this name, in any case; nullptr: there is none.
const CommandInfo* find_command(std::string_view name) noexcept;

}  // namespace store
