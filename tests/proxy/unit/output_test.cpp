// SPDX-License-Identifier: MIT
// Text and parts of documents reach a socket in their order, however little it takes at once.
#include "proxy/output.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include "proxy/socket.hpp"
#include "support/catch.hpp"

using proxy::Output;

namespace {

struct Pair {
  Pair() {
    std::array<int, 2> ends;
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    near = proxy::Socket(ends[0]);
    far = proxy::Socket(ends[1]);
  }
  /// What has come, of at most so many bytes.
  std::string take(std::size_t most) {
    std::string bytes(most, '\0');
    const ssize_t got = ::recv(far.fd(), bytes.data(), bytes.size(), 0);
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
  }
  proxy::Socket near, far;
};

proxy::DocumentPtr document_of(const std::string& body) {
  proxy::DocumentBuilder builder("k", 200, "", {}, 0, body.size());
  builder.append(body);
  return builder.finish();
}

}  // namespace

TEST_CASE("pieces of all sizes come out as they were put in") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Pair pair;
  Output output;
  std::string body(300'000, '\0');
  for (char& c : body) c = static_cast<char>(random());
  const proxy::DocumentPtr document = document_of(body);
  std::string expected, received;
  for (int round = 0; round < 2000; ++round) {
    const std::size_t begin = random() % body.size();
    const std::size_t size = random() % (round % 10 == 0 ? 200'000 : 3'000);
    const std::string_view part = document->body().substr(begin, size);
    if (random() % 2 == 0) {
      output.share(document, part);
    } else {
      output.append(part);
    }
    expected += part;
    const Output::Result result = output.flush(pair.near.fd());
    REQUIRE(result != Output::Result::kFailed);
    REQUIRE((result == Output::Result::kAllSent) == output.empty());
    received += pair.take(random() % 100'000);
    REQUIRE(output.sent() + output.pending() == expected.size());
  }
  while (received.size() < expected.size()) {
    REQUIRE(output.flush(pair.near.fd()) != Output::Result::kFailed);
    const std::string more = pair.take(1 << 20);
    REQUIRE((!more.empty() || !output.empty()));
    received += more;
  }
  // Not by CHECK(a == b), which would write megabytes.
  CHECK((received == expected));
  CHECK(document.use_count() == 1);
}

TEST_CASE("a socket whose other end is gone fails") {
  Pair pair;
  pair.far.close();
  Output output;
  output.append("x");
  CHECK(output.flush(pair.near.fd()) == Output::Result::kFailed);
}
