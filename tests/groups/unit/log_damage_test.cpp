// SPDX-License-Identifier: MIT
// A torn tail is cut; a flipped bit anywhere else is found and named.
#include <cstdint>
#include <filesystem>
#include <string>

#include "groups/log.hpp"
#include "groups/support/log_folder.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/random.hpp"

using namespace groups;
using support::append_until;
using support::log_options;
using support::require_records;
using support::TestFolder;

namespace {

/// Where record `sequence` begins, in a log of one file.
std::uint64_t place_of(std::uint64_t sequence) {
  std::uint64_t at = 32;
  for (std::uint64_t i = 0; i < sequence; ++i) {
    at += 32 + (support::record_text(i).size() + 7) / 8 * 8;
  }
  return at;
}

void fill(const TestFolder& folder, std::uint64_t records) {
  Log log(log_options(folder));
  append_until(log, records);
}

}  // namespace

TEST_CASE("a_tail_torn_at_any_byte_is_cut_off") {
  const TestFolder folder;
  fill(folder, 12);
  const std::string file = folder.segments().at(0);
  for (std::uint64_t size = place_of(12) - 1; size > 32; --size) {
    std::filesystem::resize_file(file, size);
    std::uint64_t left = 0;
    while (place_of(left + 1) <= size) ++left;
    Log log(log_options(folder));
    CHECK(log.cut_bytes() == size - place_of(left));
    require_records(log, 0, left);
    if (left == 0) break;
    // So that the next round has a torn record again.
    size = std::min(size, place_of(left) + 1);
  }
  // The machine ended while the file was made.
  std::filesystem::resize_file(file, 17);
  Log log(log_options(folder));
  require_records(log, 0, 0);
  append_until(log, 3);
}

TEST_CASE("appending_goes_on_behind_a_cut_tail") {
  const TestFolder folder;
  fill(folder, 50);
  std::filesystem::resize_file(folder.segments().at(0), place_of(50) - 3);
  {
    Log log(log_options(folder));
    require_records(log, 0, 49);
    append_until(log, 80);
  }
  const Log log(log_options(folder));
  require_records(log, 0, 80);
}

TEST_CASE("a_flipped_bit_in_any_byte_of_a_record_is_named") {
  const TestFolder folder;
  fill(folder, 6);
  const std::string file = folder.segments().at(0);
  for (std::uint64_t record = 0; record < 5; ++record) {
    for (std::uint64_t at = place_of(record); at < place_of(record + 1); ++at) {
      support::flip(file, at);
      const std::string text = support::error_text([&] { const Log log(log_options(folder)); });
      const std::string named = file + ": record " + std::to_string(record) + ", at byte " +
                                std::to_string(place_of(record)) + ", is damaged";
      support::require(text.find(named) != std::string::npos, text);
      support::flip(file, at);
    }
  }
  // Nothing was changed by all that.
  const Log log(log_options(folder));
  require_records(log, 0, 6);
}

TEST_CASE("a_flipped_bit_in_the_last_record_is_a_torn_tail") {
  const TestFolder folder;
  fill(folder, 6);
  support::flip(folder.segments().at(0), place_of(5) + 33);
  const Log log(log_options(folder));
  CHECK(log.cut_bytes() == place_of(6) - place_of(5));
  require_records(log, 0, 5);
}

TEST_CASE("a_member_that_others_can_help_cuts_what_is_damaged") {
  const TestFolder folder;
  fill(folder, 20);
  support::flip(folder.segments().at(0), place_of(8) + 40);
  LogOptions options = log_options(folder);
  options.cut_damage = true;
  {
    Log log(options);
    CHECK(log.cut_bytes() == place_of(20) - place_of(8));
    require_records(log, 0, 8);
  }
  const Log log(log_options(folder));
  require_records(log, 0, 8);
}

TEST_CASE("damage_in_an_older_file_and_a_missing_file_are_named") {
  const TestFolder folder;
  LogOptions options = log_options(folder);
  options.segment = 1000;
  {
    Log log(options);
    for (std::uint64_t end = 10; end <= 100; end += 10) {
      append_until(log, end);
      support::wait_persisted(log, end);
    }
  }
  const auto files = folder.segments();
  REQUIRE(files.size() >= 4);
  // The last byte of an older file is not a torn tail, for the next file was begun after it.
  const std::uint64_t last = std::filesystem::file_size(files[1]) - 1;
  support::flip(files[1], last);
  std::string text = support::error_text([&] { const Log log(options); });
  CHECK(text.find(files[1] + ": record ") != std::string::npos);
  support::flip(files[1], last);
  // The header of a file.
  for (std::uint64_t at = 0; at < 32; ++at) {
    support::flip(files[2], at);
    text = support::error_text([&] { const Log log(options); });
    support::require(text.find(files[2] + ": its header, at byte 0") != std::string::npos, text);
    support::flip(files[2], at);
  }
  std::filesystem::rename(files[1], folder.path() + "/away");
  text = support::error_text([&] { const Log log(options); });
  CHECK(text.find("before it are missing") != std::string::npos);
  options.cut_damage = true;
  {
    const Log log(options);
    require_records(log, 0, log.extent().end);
    CHECK(folder.segments().size() == 1);
  }
}

TEST_CASE("bytes_that_were_never_a_log_are_refused") {
  const TestFolder folder;
  {
    std::ofstream file(folder.path() + "/00000000000000000000.log");
    for (int i = 0; i < 100; ++i) file << "nothing of a log ";
  }
  CHECK(support::error_text([&] {
          const Log log(log_options(folder));
        }).find("its header, at byte 0, is not that of a log") != std::string::npos);
}
