// SPDX-License-Identifier: MIT
// The file of a checkpoint.
#include "groups/checkpoint.hpp"

#include <fcntl.h>
#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "dtutils/error.hpp"
#include "log/crc32.hpp"
#include "log/files.hpp"

namespace groups {
namespace {

constexpr std::array<char, 8> kMagic{'C', 'A', 'R', 'I', 'C', 'K', 'P', '1'};

/// The state follows it:
///
///     0       8       16     24     32     40         44       48
///     | magic | group | view | next | size | checksum | unused |
struct FileHead {
  std::array<char, 8> magic;
  CheckpointHead head;
  std::uint64_t size;
  /// CRC-32 of all before it and of the state.
  std::uint32_t checksum;
  std::uint32_t unused;
};
static_assert(sizeof(FileHead) == 48 && offsetof(FileHead, checksum) == 40);

std::uint32_t checksum(const FileHead& head, std::span<const std::byte> state) noexcept {
  const auto begin = std::as_bytes(std::span(&head, 1)).first(offsetof(FileHead, checksum));
  return detail::extend_crc32(detail::extend_crc32(0, begin), state);
}

std::string path_in(const std::string& folder) { return folder + "/checkpoint"; }

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw dtutils::Error(path, why,
                       "move this folder away, so that the member gets its state from the others");
}

}  // namespace

void write_checkpoint(const std::string& folder, const CheckpointHead& head,
                      std::span<const std::byte> state) {
  const std::string path = path_in(folder), fresh = path + ".new";
  FileHead first{kMagic, head, state.size(), 0, 0};
  first.checksum = checksum(first, state);
  {
    const detail::File file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
    file.write(0, std::as_bytes(std::span(&first, 1)));
    file.write(sizeof first, state);
    file.sync();
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) {
    detail::file_error(path, "cannot be replaced", errno);
  }
  detail::sync_folder(folder);
}

std::optional<Checkpoint> read_checkpoint(const std::string& folder, std::uint64_t group) {
  const std::string path = path_in(folder);
  if (!std::filesystem::exists(path)) return std::nullopt;
  const detail::MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  FileHead first;
  if (bytes.size() < sizeof first) refuse(path, "the checkpoint is shorter than its head");
  std::memcpy(&first, bytes.data(), sizeof first);
  const std::span<const std::byte> state = bytes.subspan(sizeof first);
  if (first.magic != kMagic || first.size != state.size() ||
      first.checksum != checksum(first, state)) {
    refuse(path, "the checkpoint is damaged: its checksum or length is wrong");
  }
  if (first.head.group != group) {
    refuse(path, fmt::format("the checkpoint belongs to group {:#x}, not to {:#x}",
                             first.head.group, group));
  }
  return Checkpoint{first.head, {state.begin(), state.end()}};
}

}  // namespace groups
