// SPDX-License-Identifier: MIT
// Writes replies of Redis' protocol (RESP2).
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace store {

/// Appends replies to a text, or to nothing: at members to which nobody has sent the command.
class Reply {
 public:
  /// nullptr: nobody waits for it.
  explicit Reply(std::string* out) noexcept : out_(out) {}

  /// "+OK", for example.
  void simple(std::string_view text) { line('+', text); }
  /// An error, with its code: "ERR ...".
  void error(std::string_view text) { line('-', text); }
  /// A number.
  void integer(std::int64_t value) { number(':', value); }
  /// A string of any bytes.
  void bulk(std::string_view bytes) {
    if (out_ == nullptr) return;
    number('$', static_cast<std::int64_t>(bytes.size()));
    out_->append(bytes).append("\r\n");
  }
  /// No such value.
  void nil() {
    if (out_ != nullptr) out_->append("$-1\r\n");
  }
  /// No array: a transaction that came to nothing.
  void nil_array() {
    if (out_ != nullptr) out_->append("*-1\r\n");
  }
  /// `count` replies follow.
  void array(std::size_t count) { number('*', static_cast<std::int64_t>(count)); }

 private:
  void line(char kind, std::string_view text) {
    if (out_ == nullptr) return;
    out_->push_back(kind);
    out_->append(text).append("\r\n");
  }
  void number(char kind, std::int64_t value) {
    if (out_ == nullptr) return;
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    line(kind, {digits, static_cast<std::size_t>(end - digits)});
  }

  std::string* out_;
};

}  // namespace store
