// SPDX-License-Identifier: MIT
// Statuses of responses, in words.
#pragma once

#include <string>
#include <string_view>

namespace proxy {

/// The words that belong to a status; empty for one that has none here.
std::string_view reason_of(int status) noexcept;
/// "HTTP/1.1 200 OK" and the end of the line.
void append_status_line(std::string& text, int status);

}  // namespace proxy
