// SPDX-License-Identifier: MIT
// The part of several buffers that is not done.
#include "buffers.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace preload;

TEST_CASE("buffers_pass_over_empty_ones_and_end") {
  std::string bytes = "abcdefghij";
  const std::vector<iovec> parts{
      {bytes.data(), 0}, {bytes.data(), 3}, {nullptr, 0}, {bytes.data() + 3, 7}, {nullptr, 0}};
  Buffers buffers{parts};
  Buffers::Window window;
  CHECK(buffers.next(window, SIZE_MAX).size() == 2);
  buffers.advance(2);
  const auto rest = buffers.next(window, 4);
  REQUIRE(rest.size() == 2);
  CHECK(rest[0].iov_base == bytes.data() + 2);
  CHECK(rest[0].iov_len == 1);
  CHECK(rest[1].iov_len == 3);
  buffers.advance(8);
  CHECK(buffers.empty());
  CHECK(buffers.done() == 10);
  CHECK(buffers.next(window, SIZE_MAX).empty());
}

TEST_CASE("a_window_leaves_its_first_places_free") {
  char byte = 0;
  const std::vector<iovec> parts(40, iovec{&byte, 1});
  const Buffers buffers{parts};
  Buffers::Window window;
  CHECK(buffers.next(window, SIZE_MAX).size() == Buffers::kWindow);
  window[0] = {&byte, 5};
  CHECK(buffers.next(window, 3, 1).size() == 4);
  CHECK(window[0].iov_len == 5);
}
