// SPDX-License-Identifier: MIT
// Chunks in pieces of all sizes, and malformed ones.
#include "proxy/chunked.hpp"

#include <algorithm>
#include <string>

#include "support/catch.hpp"

using Result = proxy::ChunkedDecoder::Result;

namespace {

struct Decoded {
  std::string body;
  std::string rest;
  Result result = Result::kNeedMore;
};

Decoded decode(std::string_view text, std::size_t step) {
  Decoded decoded;
  proxy::ChunkedDecoder decoder;
  while (!text.empty()) {
    std::string_view piece = text.substr(0, step), data;
    text.remove_prefix(piece.size());
    do {
      decoded.result = decoder.next(piece, data);
      if (decoded.result == Result::kData) decoded.body += data;
    } while (decoded.result == Result::kData);
    if (decoded.result != Result::kNeedMore) {
      decoded.rest = std::string(piece) + std::string(text);
      break;
    }
  }
  return decoded;
}

}  // namespace

TEST_CASE("chunks are joined whatever pieces they come in") {
  const std::string text =
      "5\r\nhello\r\n1;ext=\"v\"\r\n \r\n0A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nGET";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    const Decoded decoded = decode(text, step);
    REQUIRE(decoded.result == Result::kDone);
    REQUIRE(decoded.body == "hello 0123456789");
    REQUIRE(decoded.rest == "GET");
  }
}

TEST_CASE("malformed chunks are refused") {
  for (const char* bad :
       {"\r\n", "g\r\n", "-1\r\n", "0x5\r\n", "5 \r\nhello", "5\nhello", "5\r\nhelloX",
        "5\r\nhello\n", "5\r\nhello\r\r", "1234567890abcdef0\r\n", "0\r\nA: b\n\r\n",
        "0\r\n: b\r\n\r\n", "0\r\n\rX", "0\r\n b\r\n\r\n", "5;a\nb\r\n"}) {
    CAPTURE(bad);
    CHECK(decode(bad, 1).result == Result::kBad);
    CHECK(decode(bad, 100).result == Result::kBad);
  }
}

TEST_CASE("extensions and trailers without end are refused") {
  CHECK(decode("1;" + std::string(10'000, 'a'), 64).result == Result::kBad);
  std::string trailers = "0\r\n";
  for (int i = 0; i < 10'000; ++i) trailers += "a\r\n";
  CHECK(decode(trailers, 64).result == Result::kBad);
}
