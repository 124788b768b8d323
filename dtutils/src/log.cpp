// SPDX-License-Identifier: MIT
// The level, the sink, and the default lines.
#include "dtutils/log.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>

namespace dtutils {
namespace {

constexpr std::array<const char*, 5> kNames{"off", "error", "warn", "info", "debug"};
constexpr std::array<const char*, 5> kLabels{"OFF", "ERROR", "WARN", "INFO", "DEBUG"};

LogLevel level_from_environment() noexcept {
  const char* const text = std::getenv("CARIAMA_LOG");
  if (text == nullptr || *text == '\0') return LogLevel::kOff;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (std::string_view(text) == kNames[i]) return static_cast<LogLevel>(i);
  }
  return LogLevel::kInfo;
}

/// Made at the first use, so that what is set up before main may log too.
std::atomic<LogLevel>& current_level() noexcept {
  static std::atomic<LogLevel> level{level_from_environment()};
  return level;
}

struct Sink {
  std::shared_mutex mutex;
  LogSink function;
};

/// Never destroyed: threads may log while the process ends.
Sink& current_sink() {
  static Sink* const sink = new Sink;
  return *sink;
}

void write_line(LogLevel level, std::string_view who, std::string_view text) {
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  const std::string line =
      fmt::format("[{:.6f}] [{}:{}:{}] cariama {} {}: {}\n", now.count(), host.data(), getpid(),
                  syscall(SYS_gettid), kLabels[static_cast<std::size_t>(level)], who, text);
  // One call, so that lines of several threads do not mix.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

const char* to_string(LogLevel level) noexcept { return kNames[static_cast<std::size_t>(level)]; }

LogLevel log_level() noexcept { return current_level().load(std::memory_order_relaxed); }

void set_log_level(LogLevel level) noexcept {
  current_level().store(level, std::memory_order_relaxed);
}

void set_log_sink(LogSink sink) {
  const std::unique_lock lock(current_sink().mutex);
  current_sink().function = std::move(sink);
}

void log(LogLevel level, std::string_view who, std::string_view text) noexcept {
  if (level == LogLevel::kOff || !logs(level)) return;
  try {
    const std::shared_lock lock(current_sink().mutex);
    const LogSink& sink = current_sink().function;
    sink ? sink(level, who, text) : write_line(level, who, text);
  } catch (...) {
    // No memory for the line, or a sink that broke its promise: the message is lost.
  }
}

}  // namespace dtutils
