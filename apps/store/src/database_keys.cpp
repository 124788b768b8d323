// SPDX-License-Identifier: MIT
// Finds keys by patterns.
#include <algorithm>

#include "store/database.hpp"
#include "store/resp.hpp"
#include "words.hpp"

namespace store {
namespace {

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

void Database::scan(Arguments arguments, Reply& reply) {
  std::int64_t cursor = 0, count = 10;
  std::string_view pattern = "*";
  if (!parse_integer(arguments[1], cursor) || cursor < 0) return reply.error("ERR invalid cursor");
  for (std::size_t i = 2; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size()) return reply.error(kSyntax);
    if (is_word(arguments[i], "match")) {
      pattern = arguments[i + 1];
    } else if (is_word(arguments[i], "count")) {
      if (!parse_integer(arguments[i + 1], count)) return reply.error(kNotInteger);
      if (count < 1) return reply.error(kSyntax);
    } else {
      return reply.error(kSyntax);
    }
  }
  std::vector<std::string_view> found;
  std::int64_t seen = 0;
  auto at = static_cast<std::size_t>(cursor);
  for (; at < kShards && seen < count; ++at) {
    for (const auto& [key, value] : shards_[at]) {
      ++seen;
      if (matches(pattern, key)) found.push_back(key);
    }
  }
  reply.array(2);
  reply.bulk(std::to_string(at < kShards ? at : 0));
  reply.array(found.size());
  for (const std::string_view key : found) reply.bulk(key);
}

void Database::keys(std::string_view pattern, Reply& reply) {
  std::vector<std::string_view> found;
  for (const Shard& shard : shards_) {
    for (const auto& [key, value] : shard) {
      if (matches(pattern, key)) found.push_back(key);
    }
  }
  reply.array(found.size());
  for (const std::string_view key : found) reply.bulk(key);
}

}  // namespace store
