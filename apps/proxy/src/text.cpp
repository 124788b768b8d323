// SPDX-License-Identifier: MIT
// Character classes as tables of 256, and what is built on them.
#include "proxy/text.hpp"

#include <algorithm>
#include <array>

#include "dtutils/parse_number.hpp"

namespace proxy {
namespace {

using Table = std::array<bool, 256>;

constexpr Table token_characters() {
  Table table{};
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}

constexpr Table value_characters() {
  Table table{};
  for (std::size_t c = 0x20; c < 256; ++c) table[c] = c != 0x7f;
  table['\t'] = true;
  return table;
}

constexpr Table kToken = token_characters();
constexpr Table kValue = value_characters();

bool all_in(std::string_view text, const Table& table) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return table[static_cast<unsigned char>(c)]; });
}

}  // namespace

bool same_text(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trim(std::string_view text) noexcept {
  const auto space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_token(std::string_view text) noexcept { return !text.empty() && all_in(text, kToken); }

bool is_field_value(std::string_view text) noexcept { return all_in(text, kValue); }

std::optional<std::uint64_t> parse_decimal(std::string_view text) noexcept {
  return dtutils::parse_number<std::uint64_t>(text);
}

bool next_element(std::string_view& rest, std::string_view& element) noexcept {
  while (!rest.empty()) {
    std::size_t end = 0;
    for (bool quoted = false; end < rest.size() && (quoted || rest[end] != ','); ++end) {
      if (rest[end] == '"') quoted = !quoted;
      if (quoted && rest[end] == '\\' && end + 1 < rest.size()) ++end;
    }
    element = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!element.empty()) return true;
  }
  return false;
}

std::string_view unquote(std::string_view text) noexcept {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return text;
  return text.substr(1, text.size() - 2);
}

void append_decimal(std::string& text, std::uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

}  // namespace proxy
