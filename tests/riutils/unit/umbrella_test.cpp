// SPDX-License-Identifier: MIT
// What a program finds that includes the umbrella header alone.
#include "riutils/riutils.hpp"
#include "support/catch.hpp"

TEST_CASE("words_of_symmetric_buffers_can_be_read_and_written_with_the_umbrella_header_alone") {
  std::uint64_t word = 0;
  dtutils::store_device_word(&word, std::uint64_t{7});
  CHECK(dtutils::load_device_word(&word) == 7);
}
