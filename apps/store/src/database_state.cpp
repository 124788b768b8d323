// SPDX-License-Identifier: MIT
// The database as bytes, its digest, and patterns of keys.
#include <algorithm>
#include <cstring>

#include "dtutils/error.hpp"
#include "store/database.hpp"

namespace store {
namespace {

/// Before all keys, and before each key and value.
struct StateHead {
  std::uint64_t now;
  std::uint64_t keys;
};
struct KeyHead {
  std::uint64_t ends;
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
};
static_assert(sizeof(StateHead) == 16 && sizeof(KeyHead) == 16);

/// FNV-1a.
std::uint64_t hash(std::uint64_t start, std::string_view text) noexcept {
  for (const char c : text) start = (start ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return start;
}

/// One element of a pattern against one character; `length` is that of the element.
bool element_matches(std::string_view pattern, char c, std::size_t& length) noexcept {
  length = 1;
  if (pattern[0] == '?') return true;
  if (pattern[0] == '\\' && pattern.size() > 1) {
    length = 2;
    return pattern[1] == c;
  }
  if (pattern[0] != '[') return pattern[0] == c;
  std::size_t i = 1;
  const bool inverted = i < pattern.size() && pattern[i] == '^';
  if (inverted) ++i;
  bool inside = false;
  for (; i < pattern.size() && pattern[i] != ']'; ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    char first = pattern[i], last = pattern[i];
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      last = pattern[i += 2];
      if (last < first) std::swap(first, last);
    }
    inside |= c >= first && c <= last;
  }
  length = std::min(i + 1, pattern.size());
  return inside != inverted;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) noexcept {
  // Only the last star is ever tried again: an earlier one could not help.
  std::size_t p = 0, t = 0, star = std::string_view::npos, from = 0, length = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && element_matches(pattern.substr(p), text[t], length)) {
      p += length;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

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
  const StateHead head{now_, size_};
  put(&head, sizeof head);
  each_key([&](const std::string& key, const Value& value) {
    const KeyHead each{value.ends, static_cast<std::uint32_t>(key.size()),
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
    throw dtutils::Error("the state of a store", "it is damaged or of another version",
                         "start the same program everywhere");
  };
  const auto take = [&](void* into, std::size_t size) {
    if (bytes.size() < size) refuse();
    std::memcpy(into, bytes.data(), size);
    bytes = bytes.subspan(size);
  };
  StateHead head;
  take(&head, sizeof head);
  now_ = head.now;
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
  }
  if (!bytes.empty()) refuse();
}

std::uint64_t Database::digest() const {
  std::uint64_t sum = now_;
  for (const Shard& shard : shards_) {
    for (const auto& [key, value] : shard) {
      sum += hash(hash(0xcbf29ce484222325 ^ value.ends, key) * 31, value.bytes);
    }
  }
  return sum;
}

}  // namespace store
