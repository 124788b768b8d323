// SPDX-License-Identifier: MIT
// The parser of RESP2.
#include "store/resp.hpp"

#include <algorithm>
#include <utility>

#include "dtutils/parse_number.hpp"

namespace store {

bool parse_integer(std::string_view text, std::int64_t& value) noexcept {
  const auto number = dtutils::parse_number<std::int64_t>(text);
  value = number.value_or(value);
  return number.has_value();
}

void RespParser::begin() noexcept {
  at_ = searched_ = bytes_ = 0;
  in_command_ = in_bulk_ = skipping_ = false;
  ranges_.clear();
}

ParseStatus RespParser::garbage(std::string why) {
  error_ = std::move(why);
  return ParseStatus::kGarbage;
}

ParseStatus RespParser::need_more(std::size_t& consumed) {
  if (skipping_) {
    consumed = std::exchange(at_, 0);
    searched_ = 0;
  }
  return ParseStatus::kNeedMore;
}

ParseStatus RespParser::finish(std::string_view input, std::size_t& consumed) {
  consumed = at_;
  const bool skipped = skipping_;
  arguments_.clear();
  for (const Range& range : ranges_) arguments_.push_back(input.substr(range.at, range.bytes));
  begin();
  return skipped ? ParseStatus::kTooLarge : ParseStatus::kCommand;
}

bool RespParser::take_line(std::string_view input, std::string_view& line) {
  const std::size_t end = input.find('\n', std::max(at_, searched_));
  if (end == std::string_view::npos) {
    searched_ = input.size();
    return false;
  }
  line = input.substr(at_, end - at_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  at_ = end + 1;
  return true;
}

ParseStatus RespParser::take_inline(std::string_view input, std::size_t& consumed) {
  std::string_view line;
  const std::size_t first = at_;
  if (!take_line(input, line)) {
    return input.size() - at_ > kMaxLine ? garbage("Protocol error: too big inline request")
                                         : ParseStatus::kNeedMore;
  }
  if (line.size() > kMaxLine) {
    return garbage("Protocol error: too big inline request");
  }
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" \t", i), line.size());
    if (end > i) ranges_.push_back({first + i, end - i});
    i = end + 1;
  }
  if (line.size() + ranges_.size() * kArgumentBytes > max_command_) {
    return garbage("Protocol error: too big inline request");
  }
  return finish(input, consumed);
}

ParseStatus RespParser::next(std::string_view input, std::size_t& consumed) {
  consumed = 0;
  for (;;) {
    std::size_t taken = 0;
    const ParseStatus status = take_one(input.substr(consumed), taken);
    consumed += taken;
    // An empty line or array is no command; what follows it is at a new place.
    if (status != ParseStatus::kCommand || !arguments_.empty()) return status;
  }
}

ParseStatus RespParser::take_one(std::string_view input, std::size_t& consumed) {
  std::string_view line;
  std::int64_t number = 0;
  if (!in_command_) {
    if (at_ == input.size()) return ParseStatus::kNeedMore;
    if (input[at_] != '*') return take_inline(input, consumed);
    if (!take_line(input, line)) {
      return input.size() - at_ > kMaxLine ? garbage("Protocol error: too big mbulk count string")
                                           : ParseStatus::kNeedMore;
    }
    if (!parse_integer(line.substr(1), number) ||
        number > static_cast<std::int64_t>(kMaxArguments)) {
      return garbage("Protocol error: invalid multibulk length");
    }
    left_ = number < 0 ? 0 : static_cast<std::uint64_t>(number);
    in_command_ = true;
  }
  for (; left_ != 0; --left_) {
    if (!in_bulk_) {
      if (!take_line(input, line)) {
        return input.size() - at_ > kMaxLine ? garbage("Protocol error: too big bulk count string")
                                             : need_more(consumed);
      }
      if (!line.starts_with('$')) {
        return garbage("Protocol error: expected '$', got '" +
                       std::string(line.substr(0, line.empty() ? 0 : 1)) + "'");
      }
      if (!parse_integer(line.substr(1), number) || number < 0 ||
          number > static_cast<std::int64_t>(kMaxBulk)) {
        return garbage("Protocol error: invalid bulk length");
      }
      bulk_ = static_cast<std::uint64_t>(number);
      bytes_ += bulk_ + kArgumentBytes;
      in_bulk_ = true;
      if (!skipping_ && bytes_ > max_command_) {
        skipping_ = true;
        ranges_.clear();
      }
    }
    if (skipping_) {
      const std::size_t here = std::min<std::size_t>(bulk_, input.size() - at_);
      at_ += here;
      bulk_ -= here;
      if (bulk_ != 0) return need_more(consumed);
    }
    if (input.size() - at_ < bulk_ + 2) return need_more(consumed);
    if (input.substr(at_ + bulk_, 2) != "\r\n") {
      return garbage("Protocol error: a bulk string does not end where it says");
    }
    if (!skipping_) ranges_.push_back({at_, bulk_});
    at_ += bulk_ + 2;
    in_bulk_ = false;
  }
  return finish(input, consumed);
}

}  // namespace store
