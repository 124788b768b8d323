// SPDX-License-Identifier: MIT
// Runs the commands that change or read the state.
#include "store/database.hpp"

#include <limits>

#include "store/resp.hpp"
#include "words.hpp"

namespace store {

std::size_t Database::shard_of(std::string_view key) const noexcept {
  return std::hash<std::string_view>{}(key) % kShards;
}

Database::Value* Database::find(std::string_view key) {
  Shard& shard = shards_[shard_of(key)];
  const auto found = shard.find(key);
  return found == shard.end() ? nullptr : &found->second;
}

Database::Value& Database::make(std::string_view key) {
  if (Value* const value = find(key)) return *value;
  ++size_;
  return shards_[shard_of(key)][std::string(key)];
}

std::uint64_t Database::changed(std::string_view key) {
  const Value* const value = find(key);
  return value == nullptr ? 0 : value->changed;
}

bool Database::remove(std::string_view key) {
  Shard& shard = shards_[shard_of(key)];
  const auto found = shard.find(key);
  if (found == shard.end()) return false;
  if (found->second.ends != 0) ending_.erase({found->second.ends, found->first});
  shard.erase(found);
  --size_;
  return true;
}

void Database::set_end(std::string_view key, Value& value, std::uint64_t ends) {
  if (value.ends == ends) return;
  if (value.ends != 0) ending_.erase({value.ends, std::string(key)});
  if (ends != 0) ending_.emplace(ends, key);
  value.ends = ends;
}

void Database::advance(std::uint64_t now_ms) {
  if (now_ms > now_) now_ = now_ms;
  while (!ending_.empty() && ending_.begin()->first <= now_) {
    const std::string key = ending_.begin()->second;
    remove(key);
  }
}

void Database::clear() {
  for (Shard& shard : shards_) shard.clear();
  ending_.clear();
  size_ = 0;
}

bool Database::end_of(std::string_view text, std::int64_t unit, bool relative,
                      std::uint64_t& ends) {
  std::int64_t amount = 0;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 2;
  if (!parse_integer(text, amount) || amount > kMost / unit || amount < -kMost / unit) return false;
  const std::int64_t at = amount * unit + (relative ? static_cast<std::int64_t>(now_) : 0);
  // 0 means that there is none; what lies in the past has ended just now.
  ends = at <= 0 ? 1 : static_cast<std::uint64_t>(at);
  return true;
}

void Database::set(Arguments arguments, Reply& reply) {
  bool only_new = false, only_old = false, get = false, keep = false, timed = false;
  std::uint64_t ends = 0;
  for (std::size_t i = 3; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    const bool seconds = is_word(word, "ex"), seconds_at = is_word(word, "exat");
    if (seconds || seconds_at || is_word(word, "px") || is_word(word, "pxat")) {
      std::int64_t amount = 0;
      if (timed || keep || i + 1 == arguments.size()) return reply.error(kSyntax);
      if (!parse_integer(arguments[++i], amount)) return reply.error(kNotInteger);
      const bool relative = seconds || is_word(word, "px");
      if (amount <= 0 || !end_of(arguments[i], seconds || seconds_at ? 1000 : 1, relative, ends)) {
        return reply.error("ERR invalid expire time in 'set' command");
      }
      timed = true;
    } else if (is_word(word, "nx") && !only_old) {
      only_new = true;
    } else if (is_word(word, "xx") && !only_new) {
      only_old = true;
    } else if (is_word(word, "get")) {
      get = true;
    } else if (is_word(word, "keepttl") && !timed) {
      keep = true;
    } else {
      return reply.error(kSyntax);
    }
  }
  Value* value = find(arguments[1]);
  const bool refused = value != nullptr ? only_new : only_old;
  if (get) value != nullptr ? reply.bulk(value->bytes) : reply.nil();
  if (refused) {
    if (!get) reply.nil();
    return;
  }
  if (value == nullptr) value = &make(arguments[1]);
  value->bytes.assign(arguments[2]);
  touch(*value);
  if (!keep) set_end(arguments[1], *value, ends);
  // A point in time that has passed.
  if (ends != 0 && ends <= now_) remove(arguments[1]);
  if (!get) reply.simple("OK");
}

void Database::add(std::string_view key, std::int64_t change, Reply& reply) {
  Value* value = find(key);
  std::int64_t number = 0;
  if (value != nullptr && !parse_integer(value->bytes, number)) return reply.error(kNotInteger);
  if (__builtin_add_overflow(number, change, &number)) {
    return reply.error("ERR increment or decrement would overflow");
  }
  if (value == nullptr) value = &make(key);
  value->bytes = std::to_string(number);
  touch(*value);
  reply.integer(number);
}

void Database::expire(Arguments arguments, std::int64_t unit, bool relative, Reply& reply) {
  std::uint64_t ends = 0;
  if (!end_of(arguments[2], unit, relative, ends)) return reply.error(kNotInteger);
  Value* const value = find(arguments[1]);
  if (value == nullptr) return reply.integer(0);
  set_end(arguments[1], *value, ends);
  touch(*value);
  if (ends <= now_) remove(arguments[1]);
  reply.integer(1);
}

void Database::left(std::string_view key, std::uint64_t unit, Reply& reply) {
  const Value* const value = find(key);
  if (value == nullptr) return reply.integer(-2);
  if (value->ends == 0) return reply.integer(-1);
  reply.integer(static_cast<std::int64_t>((value->ends - now_ + unit / 2) / unit));
}

void Database::run(CommandId id, Arguments arguments, Reply& reply) {
  const std::string_view key = arguments.size() > 1 ? arguments[1] : std::string_view{};
  std::int64_t number = 0;
  std::uint64_t ends = 0;
  switch (id) {
    case CommandId::kSet:
      return set(arguments, reply);
    case CommandId::kSetNx: {
      if (find(key) != nullptr) return reply.integer(0);
      Value& value = make(key);
      value.bytes.assign(arguments[2]);
      touch(value);
      return reply.integer(1);
    }
    case CommandId::kSetEx:
    case CommandId::kPSetEx: {
      if (!parse_integer(arguments[2], number)) return reply.error(kNotInteger);
      if (number <= 0 || !end_of(arguments[2], id == CommandId::kSetEx ? 1000 : 1, true, ends)) {
        return reply.error(id == CommandId::kSetEx ? "ERR invalid expire time in 'setex' command"
                                                   : "ERR invalid expire time in 'psetex' command");
      }
      Value& value = make(key);
      value.bytes.assign(arguments[3]);
      touch(value);
      set_end(key, value, ends);
      return reply.simple("OK");
    }
    case CommandId::kGetSet: {
      Value* value = find(key);
      value != nullptr ? reply.bulk(value->bytes) : reply.nil();
      if (value == nullptr) value = &make(key);
      value->bytes.assign(arguments[2]);
      touch(*value);
      return set_end(key, *value, 0);
    }
    case CommandId::kGet:
    case CommandId::kGetDel: {
      const Value* const value = find(key);
      value != nullptr ? reply.bulk(value->bytes) : reply.nil();
      if (id == CommandId::kGetDel) remove(key);
      return;
    }
    case CommandId::kDel:
      for (const std::string_view each : arguments.subspan(1)) number += remove(each);
      return reply.integer(number);
    case CommandId::kExists:
      for (const std::string_view each : arguments.subspan(1)) number += find(each) != nullptr;
      return reply.integer(number);
    case CommandId::kIncr:
      return add(key, 1, reply);
    case CommandId::kDecr:
      return add(key, -1, reply);
    case CommandId::kIncrBy:
      return parse_integer(arguments[2], number) ? add(key, number, reply)
                                                 : reply.error(kNotInteger);
    case CommandId::kDecrBy:
      return parse_integer(arguments[2], number) &&
                     number != std::numeric_limits<std::int64_t>::min()
                 ? add(key, -number, reply)
                 : reply.error(kNotInteger);
    case CommandId::kAppend: {
      Value& value = make(key);
      value.bytes.append(arguments[2]);
      touch(value);
      return reply.integer(static_cast<std::int64_t>(value.bytes.size()));
    }
    case CommandId::kStrLen: {
      const Value* const value = find(key);
      return reply.integer(value == nullptr ? 0 : static_cast<std::int64_t>(value->bytes.size()));
    }
    case CommandId::kMGet:
      reply.array(arguments.size() - 1);
      for (const std::string_view each : arguments.subspan(1)) {
        const Value* const value = find(each);
        value != nullptr ? reply.bulk(value->bytes) : reply.nil();
      }
      return;
    case CommandId::kMSet:
      if (arguments.size() % 2 == 0) {
        return reply.error("ERR wrong number of arguments for 'mset' command");
      }
      for (std::size_t i = 1; i < arguments.size(); i += 2) {
        Value& value = make(arguments[i]);
        value.bytes.assign(arguments[i + 1]);
        touch(value);
        set_end(arguments[i], value, 0);
      }
      return reply.simple("OK");
    case CommandId::kExpire:
      return expire(arguments, 1000, true, reply);
    case CommandId::kPExpire:
      return expire(arguments, 1, true, reply);
    case CommandId::kExpireAt:
      return expire(arguments, 1000, false, reply);
    case CommandId::kPExpireAt:
      return expire(arguments, 1, false, reply);
    case CommandId::kPersist: {
      Value* const value = find(key);
      if (value == nullptr || value->ends == 0) return reply.integer(0);
      set_end(key, *value, 0);
      touch(*value);
      return reply.integer(1);
    }
    case CommandId::kTtl:
      return left(key, 1000, reply);
    case CommandId::kPTtl:
      return left(key, 1, reply);
    case CommandId::kType:
      return reply.simple(find(key) != nullptr ? "string" : "none");
    case CommandId::kScan:
      return scan(arguments, reply);
    case CommandId::kKeys:
      return keys(key, reply);
    case CommandId::kDbSize:
      return reply.integer(static_cast<std::int64_t>(size_));
    case CommandId::kFlushAll:
      clear();
      return reply.simple("OK");
    default:
      return reply.error("ERR this command has no place here");
  }
}

}  // namespace store
