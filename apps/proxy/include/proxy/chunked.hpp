// SPDX-License-Identifier: MIT
// The chunked transfer coding (RFC 9112, section 7.1), read strictly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace proxy {

/// Takes the data out of a chunked body that comes in pieces. Extensions are skipped, trailers too;
/// both are limited. A bare LF, or anything that is no hexadecimal digit in a size, is refused. One
/// thread.
class ChunkedDecoder {
 public:
  enum class Result {
    /// `data` is the next part of the body.
    kData,
    kNeedMore,
    /// The body has ended; what is left of `input` is not of it.
    kDone,
    kBad,
  };
  /// Takes what it has used off `input`. `data` is a view into it. Call it again until it answers
  /// something else than kData.
  Result next(std::string_view& input, std::string_view& data) noexcept;

 private:
  enum class State : std::uint8_t {
    kSize,
    kExtension,
    kSizeLf,
    kData,
    kDataCr,
    kDataLf,
    kTrailerStart,
    kTrailer,
    kTrailerLf,
    kEndLf,
    kDone,
  };
  bool step(char c) noexcept;

  std::uint64_t left_ = 0;
  std::size_t overhead_ = 0;
  int digits_ = 0;
  State state_ = State::kSize;
};

}  // namespace proxy
