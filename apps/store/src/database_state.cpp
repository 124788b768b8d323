// SPDX-License-Identifier: MIT
// The database as bytes, and its digest.
#include <cstring>

#include "dtutils/fnv1a.hpp"
#include "state_error.hpp"
#include "store/database.hpp"

namespace store {
namespace {

/// Before all keys, and before each key and value.
struct StateHead {
  std::uint64_t now;
  std::uint64_t changes;
  std::uint64_t keys;
};
struct KeyHead {
  std::uint64_t ends;
  std::uint64_t changed;
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
};
static_assert(sizeof(StateHead) == 24 && sizeof(KeyHead) == 24);

}  // namespace

std::vector<std::byte> Database::snapshot() const {
  const auto each_key = [this](const auto& take) {
    for (const Shard& shard : shards_) {
      for (const auto& [key, value] : shard) take(key, value);
    }
  };
  std::size_t size = sizeof(StateHead);
  each_key([&](const std::string& key, const Value& value) {
    size += sizeof(KeyHead) + key.size() + value.bytes.size();
  });
  std::vector<std::byte> bytes(size);
  std::byte* to = bytes.data();
  const auto put = [&to](const void* data, std::size_t count) {
    std::memcpy(to, data, count);
    to += count;
  };
  const StateHead head{now_, changes_, size_};
  put(&head, sizeof head);
  each_key([&](const std::string& key, const Value& value) {
    const KeyHead each{value.ends, value.changed, static_cast<std::uint32_t>(key.size()),
                       static_cast<std::uint32_t>(value.bytes.size())};
    put(&each, sizeof each);
    put(key.data(), key.size());
    put(value.bytes.data(), value.bytes.size());
  });
  return bytes;
}

void Database::restore(std::span<const std::byte> bytes) {
  clear();
  const auto refuse = [&]() {
    clear();
    refuse_state();
  };
  const auto take = [&](void* into, std::size_t size) {
    if (bytes.size() < size) refuse();
    std::memcpy(into, bytes.data(), size);
    bytes = bytes.subspan(size);
  };
  StateHead head;
  take(&head, sizeof head);
  now_ = head.now;
  changes_ = head.changes;
  std::string key;
  for (std::uint64_t i = 0; i < head.keys; ++i) {
    KeyHead each;
    take(&each, sizeof each);
    if (bytes.size() < std::uint64_t{each.key_bytes} + each.value_bytes) refuse();
    key.resize(each.key_bytes);
    take(key.data(), key.size());
    Value& value = make(key);
    value.bytes.resize(each.value_bytes);
    take(value.bytes.data(), value.bytes.size());
    set_end(key, value, each.ends);
    value.changed = each.changed;
  }
  if (!bytes.empty()) refuse();
}

std::uint64_t Database::digest() const {
  std::uint64_t sum = now_;
  for (const Shard& shard : shards_) {
    for (const auto& [key, value] : shard) {
      sum += dtutils::Fnv1a()
                 .number(value.ends)
                 .number(value.changed)
                 .text(key)
                 .number(key.size())
                 .text(value.bytes)
                 .value();
    }
  }
  return sum;
}

}  // namespace store
