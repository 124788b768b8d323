// SPDX-License-Identifier: MIT
// Group commit: one write and one fdatasync for all records that have gathered.
#include "log/writer.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"

namespace groups::detail {
namespace {

/// The disk begins with so many bytes while more are gathered and written.
constexpr std::uint64_t kPiece = 1 << 20;
/// A process that was killed has its lock until the system has ended it, and its writes.
constexpr std::chrono::seconds kLockPatience{2};

const LogOptions& checked(const LogOptions& options) {
  const auto refuse = [&](const char* what, const char* remedy) {
    throw dtutils::Error("the log in " + options.folder, what, remedy);
  };
  if (options.folder.empty()) refuse("LogOptions::folder is empty", "name one");
  if (options.group == 0) refuse("LogOptions::group is 0", "give the group a number");
  if (!std::has_single_bit(options.buffer) || options.buffer < 4096 ||
      options.buffer > std::uint64_t{1} << 30) {
    refuse("LogOptions::buffer is no power of two from 4 KiB to 1 GiB", "choose one");
  }
  std::error_code code;
  std::filesystem::create_directories(options.folder, code);
  if (code) file_error(options.folder, "cannot be made", code.value());
  return options;
}

File locked(const std::string& folder) {
  File file(folder + "/lock", O_RDWR | O_CREAT);
  dtutils::Deadline deadline(kLockPatience);
  while (flock(file.descriptor(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || deadline.passed()) {
      throw dtutils::Error(folder, "another process uses the log in it",
                           "stop that one, or choose another folder", errno);
    }
    dtutils::sleep_for(std::chrono::milliseconds(5));
  }
  return file;
}

}  // namespace

LogWriter::LogWriter(const LogOptions& options)
    : options_(checked(options)),
      lock_(locked(options.folder)),
      segments_(options.folder, options.group),
      ring_(options.buffer) {
  segments_.check(options_.cut_damage);
  reread();
}

LogWriter::~LogWriter() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);  // pairs with the acquire in run()
  wake();
  thread_.join();
}

Segments& LogWriter::segments_before_start() {
  if (thread_.joinable()) {
    throw dtutils::Error("the log in " + options_.folder, "records were appended already",
                         "replay and cut it before the first one");
  }
  return segments_;
}

void LogWriter::reread() noexcept {
  const LogExtent extent = segments_.extent();
  end_ = told_ = extent.end;
  view_ = extent.view;
  first_.store(extent.first, std::memory_order_relaxed);
  persisted_.store(extent.end, std::memory_order_relaxed);
}

void LogWriter::copy_in(std::uint64_t at, std::span<const std::byte> bytes) noexcept {
  if (bytes.empty()) return;
  const std::uint64_t from = at & (ring_.size() - 1);
  const std::uint64_t before_end = std::min<std::uint64_t>(bytes.size(), ring_.size() - from);
  std::memcpy(ring_.data() + from, bytes.data(), before_end);
  std::memcpy(ring_.data(), bytes.data() + before_end, bytes.size() - before_end);
}

RecordHeader LogWriter::header_at(std::uint64_t at) const noexcept {
  // Records are padded to 8 bytes, so a header can lie around the end of the ring.
  RecordHeader header;
  const std::uint64_t from = at & (ring_.size() - 1);
  const std::uint64_t before_end = std::min<std::uint64_t>(sizeof header, ring_.size() - from);
  std::memcpy(&header, ring_.data() + from, before_end);
  std::memcpy(reinterpret_cast<std::byte*>(&header) + before_end, ring_.data(),
              sizeof header - before_end);
  return header;
}

AppendStatus LogWriter::try_append(std::uint64_t view, std::span<const std::byte> bytes) noexcept {
  if (failed()) return AppendStatus::kFailed;
  const std::uint64_t size = sizeof(RecordHeader) + padded(bytes.size());
  if (size > ring_.size() / 2) return AppendStatus::kTooLarge;
  const std::uint64_t at = appended_.load(std::memory_order_relaxed);
  // Pairs with the release in write_batch: the thread has read what is overwritten here.
  if (at + size - written_.load(std::memory_order_acquire) > ring_.size()) {
    return AppendStatus::kFull;
  }
  RecordHeader header{0, static_cast<std::uint32_t>(bytes.size()), options_.group, view, end_};
  header.checksum = record_checksum(header, bytes);
  constexpr std::array<std::byte, 8> kZeros{};
  copy_in(at, std::as_bytes(std::span(&header, 1)));
  copy_in(at + sizeof header, bytes);
  copy_in(at + sizeof header + bytes.size(),
          std::span(kZeros).first(padded(bytes.size()) - bytes.size()));
  if (!thread_.joinable()) {
    try {
      thread_ = dtutils::JoinableThread([this] { run(); });
    } catch (const std::exception& error) {
      why_ = fmt::format("its thread cannot be started: {}", error.what());
      failed_.store(true, std::memory_order_release);
      return AppendStatus::kFailed;
    }
  }
  ++end_;
  view_ = view;
  appended_.store(at + size, std::memory_order_release);  // pairs with the acquire in write_batch
  wake();
  return AppendStatus::kAccepted;
}

void LogWriter::truncate_before(std::uint64_t sequence) noexcept {
  truncate_.store(sequence, std::memory_order_relaxed);
  wake();
}

void LogWriter::wake() noexcept {
  news_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in run()
  news_.notify_one();
}

bool LogWriter::poll() {
  const std::uint64_t now = persisted();
  if (now == told_) return false;
  told_ = now;
  if (upcall) upcall(now);
  return true;
}

void LogWriter::wait_for_news(std::uint32_t known) const noexcept {
  if (dtutils::simulated_by() == nullptr) {
    news_.wait(known, std::memory_order_acquire);
    return;
  }
  // Nobody wakes a simulated thread: it looks, and others run meanwhile.
  dtutils::Backoff backoff;
  while (news_.load(std::memory_order_acquire) == known) backoff.pause();
}

void LogWriter::run() noexcept {
  try {
    for (;;) {
      // Before it looks, so that what comes after it ends the wait.
      const std::uint32_t news = news_.load(std::memory_order_acquire);
      const bool stop = stop_.load(std::memory_order_acquire);
      if (write_batch()) continue;
      const std::uint64_t truncate = truncate_.load(std::memory_order_relaxed);
      if (truncate > truncated_) {
        segments_.remove_before(truncate);
        truncated_ = truncate;
        first_.store(segments_.extent().first, std::memory_order_relaxed);
      }
      if (stop) return;
      wait_for_news(news);
    }
  } catch (const std::exception& error) {
    why_ = error.what();
  }
  // Half a batch would be cut off when the log is opened; this only saves the work.
  try {
    segments_.last().truncate(segments_.last_bytes());
  } catch (const std::exception&) {
  }
  failed_.store(true, std::memory_order_release);
}

std::uint64_t LogWriter::write_gathered(std::uint64_t from) {
  const std::uint64_t most = from + ring_.size() / 2;
  const File& file = segments_.last();
  std::uint64_t to = appended_.load(std::memory_order_acquire);
  for (std::uint64_t at = from; at != to;) {
    const std::uint64_t begin = at & (ring_.size() - 1);
    const std::uint64_t bytes = std::min({to - at, kPiece, ring_.size() - begin});
    const std::uint64_t place = segments_.last_bytes() + (at - from);
    file.write(place, std::span<const std::byte>(ring_).subspan(begin, bytes));
    at += bytes;
    if (to - from > kPiece) file.start_sync(place, bytes);
    // Another piece has gathered: one fdatasync is enough for both. Less does not hold it up.
    const std::uint64_t now = appended_.load(std::memory_order_acquire);
    if (now - at >= kPiece && now < most) to = now;
  }
  return to;
}

bool LogWriter::write_batch() {
  const std::uint64_t from = written_.load(std::memory_order_relaxed);
  if (from == appended_.load(std::memory_order_acquire)) return false;
  if (segments_.last_bytes() >= options_.segment) segments_.begin(header_at(from).sequence);
  const std::uint64_t to = write_gathered(from);
  std::uint64_t records = 0;
  for (std::uint64_t at = from; at != to; ++records) {
    at += sizeof(RecordHeader) + padded(header_at(at).size);
  }
  segments_.last().sync();
  segments_.grown(to - from);
  written_.store(to, std::memory_order_release);
  persisted_.store(persisted_.load(std::memory_order_relaxed) + records, std::memory_order_release);
  return true;
}

}  // namespace groups::detail
