// SPDX-License-Identifier: MIT
// The state of the store: what the updates in their order make, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/commands.hpp"
#include "store/reply.hpp"

namespace store {

/// Arguments of a command with its name in front.
using Arguments = std::span<const std::string_view>;

/// Keys with values, and their ends. It knows no clock: time is what advance() was told, which all
/// members are told by the same messages. Two databases that were given the same updates and times
/// are equal, replies included. Owner thread only.
class Database {
 public:
  Database() : shards_(kShards) {}

  /// The agreed time in milliseconds since 1970; it does not go back. Keys that have ended are gone
  /// afterwards.
  void advance(std::uint64_t now_ms);
  /// The agreed time.
  std::uint64_t now() const noexcept { return now_; }
  /// A key ends sometime; and by this time.
  bool has_ends() const noexcept { return !ending_.empty(); }
  /// See above.
  bool ends_by(std::uint64_t now_ms) const noexcept {
    return has_ends() && ending_.begin()->first <= now_ms;
  }
  /// Runs an update or a read; not kPublish or kExec. The count of arguments is right.
  void run(CommandId id, Arguments arguments, Reply& reply);
  /// The number of the last change of a key, for WATCH; 0: there is no such key.
  std::uint64_t changed(std::string_view key);
  /// Keys.
  std::size_t size() const noexcept { return size_; }

  /// All of it as bytes, and back. restore() throws dtutils::Error for what snapshot() has not
  /// made, and then the database is empty.
  std::vector<std::byte> snapshot() const;
  /// See snapshot().
  void restore(std::span<const std::byte> bytes);
  /// Equal for equal databases, whatever the order of insertion.
  std::uint64_t digest() const;

 private:
  struct Value {
    std::string bytes;
    /// 0: it has no end.
    std::uint64_t ends = 0;
    /// See changed().
    std::uint64_t changed = 0;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Shard = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;
  /// A cursor of SCAN is the number of a shard, so a key that is there all the time is found once.
  static constexpr std::size_t kShards = 1024;

  std::size_t shard_of(std::string_view key) const noexcept;
  Value* find(std::string_view key);
  Value& make(std::string_view key);
  /// Counts a change of a value.
  void touch(Value& value) noexcept { value.changed = ++changes_; }
  bool remove(std::string_view key);
  void set_end(std::string_view key, Value& value, std::uint64_t ends);
  void set(Arguments arguments, Reply& reply);
  void add(std::string_view key, std::int64_t change, Reply& reply);
  void expire(Arguments arguments, std::int64_t unit, bool relative, Reply& reply);
  void left(std::string_view key, std::uint64_t unit, Reply& reply);
  void scan(Arguments arguments, Reply& reply);
  void keys(std::string_view pattern, Reply& reply);
  bool end_of(std::string_view text, std::int64_t unit, bool relative, std::uint64_t& ends);
  void clear();

  std::uint64_t now_ = 0;
  std::size_t size_ = 0;
  /// Of all keys; the same at all members.
  std::uint64_t changes_ = 0;
  std::vector<Shard> shards_;
  /// By their ends.
  std::set<std::pair<std::uint64_t, std::string>> ending_;
};

/// As KEYS matches: * ? [a-c] [^a] and \ before any of them. Takes time proportional to pattern
/// times text at most.
bool matches(std::string_view pattern, std::string_view text) noexcept;

}  // namespace store
