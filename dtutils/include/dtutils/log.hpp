// SPDX-License-Identifier: MIT
// What the layers report of their set-up and of failures: silent unless a user asks for it.
#pragma once

#include <functional>
#include <string_view>

namespace dtutils {

/// Each level includes those before it.
enum class LogLevel {
  kOff,    ///< Nothing; the default.
  kError,  ///< Something failed, and no exception tells the program.
  kWarn,   ///< A peer failed, or a slower way is taken than was asked for.
  kInfo,   ///< What was chosen and why: device, port, pages, bootstrap, places of threads.
  kDebug,  ///< Each connection and each step of setting up and leaving.
};

/// "off", "error", "warn", "info" or "debug".
const char* to_string(LogLevel level) noexcept;

/// Takes one message: who speaks ("shm device", "fabric"), and a sentence without a line end. It
/// may be called by several threads at once, from inside of set-up and of failure handling, and
/// must neither throw nor call this library.
using LogSink = std::function<void(LogLevel level, std::string_view who, std::string_view text)>;

/// The level of this process. The environment variable CARIAMA_LOG (off, error, warn, info or
/// debug) sets it before main, and a word that is none of these counts as info. Any thread,
/// wait-free.
LogLevel log_level() noexcept;
/// Any thread, wait-free.
void set_log_level(LogLevel level) noexcept;

/// Where messages go from now on; an empty function stands for the default: one line to stderr as
/// "[<seconds since the epoch>] [<host>:<process id>:<thread id>] cariama INFO <who>: <text>".
/// Setup only: waits for sinks that run.
void set_log_sink(LogSink sink);

/// True when a message of this level is wanted: ask before a message is put together. Any thread,
/// wait-free.
inline bool logs(LogLevel level) noexcept { return level <= log_level(); }

/// Hands one message to the sink if its level is wanted. Takes a lock, so it is never called on the
/// data path. Any thread.
void log(LogLevel level, std::string_view who, std::string_view text) noexcept;

}  // namespace dtutils
