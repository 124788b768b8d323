// SPDX-License-Identifier: MIT
// What commands' arguments are compared with, and what wrong ones are told.
#pragma once

#include <cstddef>
#include <string_view>

namespace store {

inline constexpr std::string_view kNotInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kSyntax = "ERR syntax error";

/// `word` is in lower case.
inline bool is_word(std::string_view text, std::string_view word) noexcept {
  if (text.size() != word.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] + 32) : text[i];
    if (c != word[i]) return false;
  }
  return true;
}

}  // namespace store
