// SPDX-License-Identifier: MIT
// Reads, checks and cuts the files of a log.
#include "log/segments.hpp"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "dtutils/error.hpp"
#include "log/format.hpp"

namespace groups::detail {
namespace {

constexpr std::size_t kDigits = 20;
constexpr std::string_view kSuffix = ".log";

/// The first sequences that the names of files tell, ascending.
std::vector<std::uint64_t> names_in(const std::string& folder) {
  std::vector<std::uint64_t> firsts;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    const std::string name = entry.path().filename().string();
    if (name.size() != kDigits + kSuffix.size() || !name.ends_with(kSuffix)) continue;
    if (name.find_first_not_of("0123456789") != kDigits) continue;
    firsts.push_back(std::stoull(name.substr(0, kDigits)));
  }
  if (code) file_error(folder, "cannot be listed", code.value());
  std::sort(firsts.begin(), firsts.end());
  return firsts;
}

std::string path_of(const std::string& folder, std::uint64_t first) {
  return fmt::format("{}/{:020}{}", folder, first, kSuffix);
}

template <class T>
T load(std::span<const std::byte> bytes, std::uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// A whole record with the right checksum.
bool is_record(std::span<const std::byte> bytes, std::uint64_t at, RecordHeader& header) {
  if (bytes.size() - at < sizeof header) return false;
  header = load<RecordHeader>(bytes, at);
  const std::uint64_t room = bytes.size() - at - sizeof header;
  if (padded(header.size) > room) return false;
  const auto body = bytes.subspan(at + sizeof header, header.size);
  if (record_checksum(header, body) != header.checksum) return false;
  return std::all_of(body.data() + body.size(), body.data() + padded(body.size()),
                     [](std::byte pad) { return pad == std::byte{0}; });
}

}  // namespace

Segments::Segments(std::string folder, std::uint64_t group)
    : folder_(std::move(folder)), group_(group), firsts_(names_in(folder_)) {}

std::string Segments::path(std::uint64_t first) const { return path_of(folder_, first); }

std::uint64_t Segments::group_in(const std::string& folder) {
  if (!std::filesystem::exists(folder)) return 0;
  for (const std::uint64_t first : names_in(folder)) {
    const MappedFile file(path_of(folder, first));
    if (file.bytes().size() < sizeof(SegmentHeader)) continue;
    const auto header = load<SegmentHeader>(file.bytes(), 0);
    if (header.magic == kLogMagic && header.checksum == segment_checksum(header)) {
      return header.group;
    }
  }
  return 0;
}

std::string Segments::header_damage(std::uint64_t first, std::span<const std::byte> bytes) const {
  if (bytes.size() < sizeof(SegmentHeader)) return "it ends in its header, at byte 0";
  const auto header = load<SegmentHeader>(bytes, 0);
  if (header.magic != kLogMagic) return "its header, at byte 0, is not that of a log";
  if (header.checksum != segment_checksum(header) || header.unused != 0 ||
      header.first_sequence != first) {
    return fmt::format("its header, at byte 0, before record {}, is damaged", first);
  }
  if (header.group != group_) {
    throw dtutils::Error(
        path(first),
        fmt::format("it is the log of group {:016x}, not of {:016x}", header.group, group_),
        "give each group a folder of its own");
  }
  return {};
}

Segments::Scan Segments::scan(std::uint64_t first, std::span<const std::byte> bytes,
                              const std::function<void(const LogRecord&)>& take) const {
  Scan scan{sizeof(SegmentHeader), {first, first, 0}, {}};
  while (scan.bytes < bytes.size()) {
    RecordHeader header;
    const bool whole = is_record(bytes, scan.bytes, header);
    if (!whole || header.sequence != scan.extent.end || header.group != group_) {
      scan.damage = fmt::format(
          "record {}, at byte {}, is {}", scan.extent.end, scan.bytes,
          whole ? fmt::format("another one, {} of group {:016x}", header.sequence, header.group)
                : "damaged or incomplete");
      return scan;
    }
    take({header.view, header.sequence, bytes.subspan(scan.bytes + sizeof header, header.size)});
    scan.extent.end = header.sequence + 1;
    scan.extent.view = header.view;
    scan.bytes += sizeof header + padded(header.size);
  }
  return scan;
}

bool Segments::record_follows(const Scan& scan, std::span<const std::byte> bytes) const {
  for (std::uint64_t at = scan.bytes + 8; at + sizeof(RecordHeader) <= bytes.size(); at += 8) {
    // Looks at the group first: a checksum at every place would take too long.
    if (load<std::uint64_t>(bytes, at + offsetof(RecordHeader, group)) != group_) continue;
    RecordHeader header;
    if (is_record(bytes, at, header) && header.sequence > scan.extent.end) return true;
  }
  return false;
}

void Segments::refuse(std::uint64_t first, const std::string& damage) const {
  throw dtutils::Error(path(first), damage,
                       "take the file from a copy, or open the log with cut_damage, which keeps "
                       "what is before it, and get the rest from other members");
}

void Segments::check(bool cut_damage) {
  const auto take = [this](const LogRecord& record) {
    if (views_.empty() || views_.back().view != record.view) {
      views_.push_back({record.view, record.sequence});
    }
  };
  extent_ = {};
  for (std::size_t i = 0; i < firsts_.size(); ++i) {
    const std::uint64_t first = firsts_[i];
    const bool is_last = i + 1 == firsts_.size();
    if (i == 0) extent_ = {first, first, 0};
    std::uint64_t size = 0;
    Scan found;
    bool torn = false;
    {
      const MappedFile file(path(first));
      size = file.bytes().size();
      found = {0, {first, first, 0}, header_damage(first, file.bytes())};
      if (first != extent_.end) {
        found.damage =
            fmt::format("records from {} to {} before it are missing", extent_.end, first - 1);
      } else if (found.damage.empty()) {
        found = scan(first, file.bytes(), take);
        torn = is_last && !found.damage.empty() && !record_follows(found, file.bytes());
      } else {
        // The machine ended while the file was made.
        torn = is_last && size < sizeof(SegmentHeader);
      }
    }
    if (found.extent.end != first) {
      extent_.end = found.extent.end;
      extent_.view = found.extent.view;
    }
    if (found.damage.empty()) continue;
    if (!torn && !cut_damage) refuse(first, found.damage);
    cut_bytes_ += size - found.bytes;
    if (found.bytes == 0) {
      remove_from(first);
    } else {
      if (!is_last) remove_from(firsts_[i + 1]);
      const File file(path(first), O_RDWR);
      file.truncate(found.bytes);
      file.sync();
    }
    break;
  }
  open_last();
}

void Segments::open_last() {
  if (firsts_.empty()) {
    begin(extent_.end);
    extent_.first = extent_.end;
    return;
  }
  last_ = File(path(firsts_.back()), O_RDWR);
  last_bytes_ = last_.size();
}

void Segments::remove_from(std::uint64_t first) {
  // The newest first, so that there is never a gap.
  while (!firsts_.empty() && firsts_.back() >= first) {
    remove_file(path(firsts_.back()));
    firsts_.pop_back();
  }
  sync_folder(folder_);
}

void Segments::read(std::uint64_t first, const std::function<void(const LogRecord&)>& take) const {
  for (std::size_t i = 0; i < firsts_.size(); ++i) {
    if (i + 1 < firsts_.size() && firsts_[i + 1] <= first) continue;
    const MappedFile file(path(firsts_[i]));
    const Scan found = scan(firsts_[i], file.bytes(), [&](const LogRecord& record) {
      if (record.sequence >= first) take(record);
    });
    if (!found.damage.empty()) refuse(firsts_[i], found.damage);
  }
}

void Segments::cut(std::uint64_t sequence) {
  if (sequence >= extent_.end) return;
  if (sequence <= extent_.first) return restart_at(sequence);
  // A file that begins with the cut is not needed; one is, since extent_.first is below.
  remove_from(sequence);
  std::uint64_t bytes = sizeof(SegmentHeader);
  read(firsts_.back(), [&](const LogRecord& record) {
    if (record.sequence >= sequence) return;
    bytes += sizeof(RecordHeader) + padded(record.bytes.size());
  });
  std::erase_if(views_, [&](const LogView& view) { return view.first >= sequence; });
  extent_ = {extent_.first, sequence, views_.back().view};
  open_last();
  last_.truncate(bytes);
  last_.sync();
  last_bytes_ = bytes;
}

void Segments::restart_at(std::uint64_t sequence) {
  remove_from(0);
  extent_ = {sequence, sequence, 0};
  views_.clear();
  open_last();
}

void Segments::remove_before(std::uint64_t sequence) {
  bool removed = false;
  while (firsts_.size() > 1 && firsts_[1] <= sequence) {
    remove_file(path(firsts_.front()));
    firsts_.erase(firsts_.begin());
    extent_.first = firsts_.front();
    removed = true;
  }
  if (removed) sync_folder(folder_);
}

void Segments::begin(std::uint64_t sequence) {
  const SegmentHeader header = segment_header(group_, sequence);
  last_ = File(path(sequence), O_RDWR | O_CREAT | O_TRUNC);
  last_.write(0, std::as_bytes(std::span(&header, 1)));
  last_.sync();
  last_bytes_ = sizeof header;
  sync_folder(folder_);
  firsts_.push_back(sequence);
}

}  // namespace groups::detail
