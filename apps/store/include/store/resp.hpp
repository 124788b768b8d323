// SPDX-License-Identifier: MIT
// Reads commands of Redis' protocol (RESP2) from bytes that arrive in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace store {

/// What a step of the parser found.
enum class ParseStatus : std::uint8_t {
  /// The bytes end before the command does.
  kNeedMore,
  /// A command; its arguments are there.
  kCommand,
  /// A complete command that is larger than the limit; it was skipped, and the next one follows.
  kTooLarge,
  /// No RESP: error() says why. Nothing after it can be understood.
  kGarbage,
};

/// Incremental: no byte is looked at twice, and of a command above the limit nothing is kept, so a
/// bulk string of 512 MB costs no memory. A line that does not begin with '*' is a command by its
/// words ("inline"), as redis-server takes it. Owner thread only.
class RespParser {
 public:
  /// Bytes of a bulk string at most, as redis-server's proto-max-bulk-len.
  static constexpr std::uint64_t kMaxBulk = 512ull << 20;
  /// Arguments of a command at most.
  static constexpr std::uint64_t kMaxArguments = 1 << 20;
  /// What each argument counts beside its own bytes.
  static constexpr std::size_t kArgumentBytes = 4;
  /// Bytes of a line at most.
  static constexpr std::size_t kMaxLine = 64 << 10;

  /// `max_command`: bytes of all arguments of a command together, with kArgumentBytes for each.
  explicit RespParser(std::size_t max_command) : max_command_(max_command) {}

  /// `input` begins with the first byte that has not been consumed. `consumed`, which the caller
  /// drops from its beginning, is for kNeedMore only what is being skipped or was no command (an
  /// empty line or array). The arguments point into `input`.
  ParseStatus next(std::string_view input, std::size_t& consumed);
  /// Of the last command, at least one.
  std::span<const std::string_view> arguments() const noexcept { return arguments_; }
  /// Of the last garbage, as redis-server words it.
  const std::string& error() const noexcept { return error_; }

 private:
  struct Range {
    std::size_t at;
    std::size_t bytes;
  };
  /// The same for one line or array, which may be empty: a command without arguments.
  ParseStatus take_one(std::string_view input, std::size_t& consumed);
  ParseStatus garbage(std::string why);
  ParseStatus finish(std::string_view input, std::size_t& consumed);
  ParseStatus take_inline(std::string_view input, std::size_t& consumed);
  ParseStatus need_more(std::size_t& consumed);
  /// Into `line`, without its end; false: it is not complete.
  bool take_line(std::string_view input, std::string_view& line);
  void begin() noexcept;

  std::size_t max_command_;
  /// Where the next byte to look at is, and where a search for the end of a line goes on.
  std::size_t at_ = 0;
  std::size_t searched_ = 0;
  bool in_command_ = false;
  bool in_bulk_ = false;
  bool skipping_ = false;
  std::uint64_t left_ = 0;
  std::uint64_t bulk_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Range> ranges_;
  std::vector<std::string_view> arguments_;
  std::string error_;
};

/// A decimal number as a whole, with a sign perhaps; false when it is none.
bool parse_integer(std::string_view text, std::int64_t& value) noexcept;

}  // namespace store
