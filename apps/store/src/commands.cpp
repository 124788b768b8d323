// SPDX-License-Identifier: MIT
// Names of commands.
#include "store/commands.hpp"

#include <algorithm>
#include <array>

namespace store {
namespace {

using enum CommandId;

constexpr std::array kCommands = [] {
  std::array all{
      CommandInfo{"append", kAppend, 3},
      CommandInfo{"client", kClient, -2},
      CommandInfo{"command", kCommand, -1},
      CommandInfo{"config", kConfig, -2},
      CommandInfo{"dbsize", kDbSize, 1},
      CommandInfo{"decr", kDecr, 2},
      CommandInfo{"decrby", kDecrBy, 3},
      CommandInfo{"del", kDel, -2},
      CommandInfo{"discard", kDiscard, 1},
      CommandInfo{"echo", kEcho, 2},
      CommandInfo{"exec", kExec, 1},
      CommandInfo{"exists", kExists, -2},
      CommandInfo{"expire", kExpire, 3},
      CommandInfo{"expireat", kExpireAt, 3},
      CommandInfo{"flushall", kFlushAll, -1},
      CommandInfo{"flushdb", kFlushAll, -1},
      CommandInfo{"get", kGet, 2},
      CommandInfo{"getdel", kGetDel, 2},
      CommandInfo{"getset", kGetSet, 3},
      CommandInfo{"incr", kIncr, 2},
      CommandInfo{"incrby", kIncrBy, 3},
      CommandInfo{"info", kInfo, -1},
      CommandInfo{"keys", kKeys, 2},
      CommandInfo{"mget", kMGet, -2},
      CommandInfo{"mset", kMSet, -3},
      CommandInfo{"multi", kMulti, 1},
      CommandInfo{"persist", kPersist, 2},
      CommandInfo{"pexpire", kPExpire, 3},
      CommandInfo{"pexpireat", kPExpireAt, 3},
      CommandInfo{"ping", kPing, -1},
      CommandInfo{"psetex", kPSetEx, 4},
      CommandInfo{"pttl", kPTtl, 2},
      CommandInfo{"publish", kPublish, 3},
      CommandInfo{"quit", kQuit, -1},
      CommandInfo{"readonly", kReadOnly, 1},
      CommandInfo{"readwrite", kReadWrite, 1},
      CommandInfo{"scan", kScan, -2},
      CommandInfo{"select", kSelect, 2},
      CommandInfo{"set", kSet, -3},
      CommandInfo{"setex", kSetEx, 4},
      CommandInfo{"setnx", kSetNx, 3},
      CommandInfo{"status", kStatus, 1},
      CommandInfo{"strlen", kStrLen, 2},
      CommandInfo{"subscribe", kSubscribe, -2},
      CommandInfo{"ttl", kTtl, 2},
      CommandInfo{"type", kType, 2},
      CommandInfo{"unlink", kDel, -2},
      CommandInfo{"unsubscribe", kUnsubscribe, -1},
      CommandInfo{"unwatch", kUnwatch, 1},
      CommandInfo{"watch", kWatch, -2},
  };
  return all;
}();
static_assert(std::is_sorted(kCommands.begin(), kCommands.end(),
                             [](const CommandInfo& a, const CommandInfo& b) {
                               return a.name < b.name;
                             }));

}  // namespace

const CommandInfo* find_command(std::string_view name) noexcept {
  std::array<char, 16> lower;
  if (name.size() > lower.size()) return nullptr;
  std::transform(name.begin(), name.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const std::string_view key(lower.data(), name.size());
  const auto found =
      std::lower_bound(kCommands.begin(), kCommands.end(), key,
                       [](const CommandInfo& info, std::string_view k) { return info.name < k; });
  return found != kCommands.end() && found->name == key ? &*found : nullptr;
}

}  // namespace store
