// SPDX-License-Identifier: MIT
// A machine of states; data pass in whole views.
#include "proxy/chunked.hpp"

#include <algorithm>

#include "proxy/text.hpp"

namespace proxy {
namespace {

/// Bytes of extensions and trailers at most, together.
constexpr std::size_t kMaxOverhead = 8192;
/// So that a size fits into 64 bits.
constexpr int kMaxDigits = 15;

int digit_of(char c) noexcept {
  const char l = lower(c);
  if (c >= '0' && c <= '9') return c - '0';
  if (l >= 'a' && l <= 'f') return l - 'a' + 10;
  return -1;
}

}  // namespace

bool ChunkedDecoder::step(char c) noexcept {
  switch (state_) {
    case State::kSize:
      if (const int digit = digit_of(c); digit >= 0) {
        left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
        return ++digits_ <= kMaxDigits;
      }
      if (digits_ == 0) return false;
      if (c == '\r') {
        state_ = State::kSizeLf;
        return true;
      }
      state_ = State::kExtension;
      return c == ';';
    case State::kExtension:
      if (c == '\r') {
        state_ = State::kSizeLf;
        return true;
      }
      return is_field_value({&c, 1}) && ++overhead_ <= kMaxOverhead;
    case State::kSizeLf:
      digits_ = 0;
      state_ = left_ == 0 ? State::kTrailerStart : State::kData;
      return c == '\n';
    case State::kDataCr:
      state_ = State::kDataLf;
      return c == '\r';
    case State::kDataLf:
      state_ = State::kSize;
      return c == '\n';
    case State::kTrailerStart:
      if (c == '\r') {
        state_ = State::kEndLf;
        return true;
      }
      state_ = State::kTrailer;
      return is_token({&c, 1}) && ++overhead_ <= kMaxOverhead;
    case State::kTrailer:
      if (c == '\r') {
        state_ = State::kTrailerLf;
        return true;
      }
      return is_field_value({&c, 1}) && ++overhead_ <= kMaxOverhead;
    case State::kTrailerLf:
      state_ = State::kTrailerStart;
      return c == '\n';
    case State::kEndLf:
      state_ = State::kDone;
      return c == '\n';
    case State::kData:
    case State::kDone:
      break;
  }
  return true;
}

ChunkedDecoder::Result ChunkedDecoder::next(std::string_view& input,
                                            std::string_view& data) noexcept {
  for (;;) {
    if (state_ == State::kDone) return Result::kDone;
    if (input.empty()) return Result::kNeedMore;
    if (state_ == State::kData) {
      const std::size_t size = std::min<std::uint64_t>(left_, input.size());
      data = input.substr(0, size);
      input.remove_prefix(size);
      left_ -= size;
      if (left_ == 0) state_ = State::kDataCr;
      return Result::kData;
    }
    const char c = input.front();
    input.remove_prefix(1);
    if (!step(c)) return Result::kBad;
  }
}

}  // namespace proxy
