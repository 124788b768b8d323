// SPDX-License-Identifier: MIT
// A state on disk: what comes back, and what is refused.
#include "groups/checkpoint.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "groups/durable_state.hpp"
#include "groups/support/log_folder.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using groups::read_checkpoint;
using groups::write_checkpoint;
using support::kTestGroup;
using support::TestFolder;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void flip(const TestFolder& folder, std::streamoff at) {
  std::fstream file(folder.path() + "/checkpoint", std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(at);
  file.put(byte);
}

}  // namespace

TEST_CASE("a_checkpoint_comes_back_as_it_was_written_last") {
  const TestFolder folder;
  CHECK(!read_checkpoint(folder.path(), kTestGroup));
  const std::string state = "the whole state";
  write_checkpoint(folder.path(), {kTestGroup, 3, 100}, bytes_of("older"));
  write_checkpoint(folder.path(), {kTestGroup, 4, 200}, bytes_of(state));
  const auto found = read_checkpoint(folder.path(), kTestGroup);
  REQUIRE(found);
  CHECK(found->head.view == 4);
  CHECK(found->head.next == 200);
  CHECK(std::ranges::equal(found->state, bytes_of(state)));
}

TEST_CASE("a_state_of_no_bytes_has_a_checkpoint") {
  const TestFolder folder;
  write_checkpoint(folder.path(), {kTestGroup, 1, 7}, {});
  const auto found = read_checkpoint(folder.path(), kTestGroup);
  REQUIRE(found);
  CHECK(found->head.next == 7);
  CHECK(found->state.empty());
}

TEST_CASE("every_flipped_byte_of_a_checkpoint_is_found") {
  const TestFolder folder;
  const std::string state = "0123456789";
  // The last word of the head is not used.
  for (const std::streamoff at : {0, 8, 16, 24, 32, 40, 48, 57}) {
    write_checkpoint(folder.path(), {kTestGroup, 1, 1}, bytes_of(state));
    flip(folder, at);
    const std::string error =
        support::error_text([&] { (void)read_checkpoint(folder.path(), kTestGroup); });
    INFO("byte " << at);
    CHECK(error.find("damaged") != std::string::npos);
  }
}

TEST_CASE("a_torn_checkpoint_is_refused") {
  const TestFolder folder;
  const std::string path = folder.path() + "/checkpoint";
  for (const std::uintmax_t bytes : {57u, 48u, 47u, 0u}) {
    write_checkpoint(folder.path(), {kTestGroup, 1, 1}, bytes_of("0123456789"));
    std::filesystem::resize_file(path, bytes);
    CHECK(support::error_text([&] {
            (void)read_checkpoint(folder.path(), kTestGroup);
          }).find(path) != std::string::npos);
  }
}

TEST_CASE("a_checkpoint_of_another_group_is_refused") {
  const TestFolder folder;
  write_checkpoint(folder.path(), {kTestGroup + 1, 1, 1}, {});
  CHECK(support::error_text([&] {
          (void)read_checkpoint(folder.path(), kTestGroup);
        }).find("belongs to group") != std::string::npos);
}

TEST_CASE("a_checkpoint_that_cannot_be_written_leaves_the_old_one") {
  const TestFolder folder;
  write_checkpoint(folder.path(), {kTestGroup, 1, 5}, bytes_of("old"));
  // A folder is where the new file would be.
  std::filesystem::create_directory(folder.path() + "/checkpoint.new");
  CHECK(support::error_text([&] {
          write_checkpoint(folder.path(), {kTestGroup, 1, 6}, bytes_of("new"));
        }).find("cannot be opened") != std::string::npos);
  CHECK(read_checkpoint(folder.path(), kTestGroup)->head.next == 5);
}

TEST_CASE("a_message_that_the_log_cannot_hold_is_an_error_and_not_a_gap") {
  const TestFolder folder;
  groups::DurableOptions options;
  options.log = support::log_options(folder);
  options.log.buffer = 4096;
  groups::DurableState durable(options, {});
  const std::string largest(2048 - 40, 'x'), larger(2048, 'y');
  durable.append({1, 0, {0}, bytes_of(largest)});
  CHECK(support::error_text([&] {
          durable.append({1, 1, {0}, bytes_of(larger)});
        }).find("a message of 2048 bytes is larger than half of the log's buffer of 4096") !=
        std::string::npos);
  CHECK(durable.log().extent().end == 1);
  CHECK(!durable.failed());
}

TEST_CASE("the_checksum_is_crc_32_whatever_the_number_of_bytes") {
  const TestFolder folder;
  for (const std::size_t size : {0, 1, 15, 63, 64, 65, 127, 128, 191, 4099, 100'000}) {
    std::string state;
    for (std::size_t i = 0; i < size; ++i) state.push_back(static_cast<char>(i * i * 31 + size));
    write_checkpoint(folder.path(), {kTestGroup, 3, size}, bytes_of(state));
    std::ifstream file(folder.path() + "/checkpoint", std::ios::binary);
    std::string head(48, '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    // Bit by bit, as ISO 3309 has it.
    std::uint32_t sum = ~std::uint32_t{0};
    for (const char byte : head.substr(0, 40) + state) {
      sum ^= static_cast<unsigned char>(byte);
      for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1) * 0xedb88320u;
    }
    std::uint32_t written;
    std::memcpy(&written, head.data() + 40, sizeof written);
    CHECK(written == ~sum);
  }
}
