// SPDX-License-Identifier: MIT
// Small functions on the text of HTTP: ASCII without case, tokens, numbers, lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace proxy {

/// The character in lower case, if it is a letter of ASCII.
constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// Equal but for the case of letters of ASCII.
bool same_text(std::string_view a, std::string_view b) noexcept;

/// Without spaces and tabs at both ends (OWS of RFC 9110, section 5.6.3).
std::string_view trim(std::string_view text) noexcept;

/// A token of RFC 9110, section 5.6.2: not empty, only characters of names.
bool is_token(std::string_view text) noexcept;

/// Only what a field value may have: spaces, tabs, visible ASCII and bytes above it (RFC 9110,
/// section 5.5); so no CR, LF or NUL.
bool is_field_value(std::string_view text) noexcept;

/// A number of digits only. Nothing when it has other characters, none, or does not fit.
std::optional<std::uint64_t> parse_decimal(std::string_view text) noexcept;

/// Takes the next element off a list with commas, trimmed; commas inside of quotes do not count
/// (RFC 9110, section 5.6.1). Empty elements are left out. False at the end.
bool next_element(std::string_view& rest, std::string_view& element) noexcept;

/// What stands between quotes; the text itself when it has none. Backslashes stay.
std::string_view unquote(std::string_view text) noexcept;

/// Writes the number behind the text.
void append_decimal(std::string& text, std::uint64_t number);

}  // namespace proxy
