// SPDX-License-Identifier: MIT
// Whole numbers that a user, a file or a peer writes in decimal digits.
#pragma once

#include <charconv>
#include <concepts>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace dtutils {

/// The number that the whole text is: decimal digits, after "-" where T is signed. Nothing: the
/// text is empty or holds anything else, also blanks and "+"; the number is not between the limits.
/// Any thread, wait-free.
template <std::integral T>
std::optional<T> parse_number(std::string_view text, T least = std::numeric_limits<T>::min(),
                              T most = std::numeric_limits<T>::max()) noexcept {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most) return std::nullopt;
  return number;
}

}  // namespace dtutils
