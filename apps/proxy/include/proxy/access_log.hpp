// SPDX-License-Identifier: MIT
// One line for each request, in a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/message.hpp"
#include "proxy/metrics.hpp"
#include "proxy/socket.hpp"

namespace proxy {

/// Lines in the combined format of web servers, with the outcome and the milliseconds behind:
///
///     127.0.0.1 - - [25/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 1024 "-" "curl/7" hit 0
///
/// Bytes of a client that could end a word or a line are written as \xHH. They are gathered, and
/// written when there are many, and by flush(). When the disk refuses them, they are lost. Owner
/// thread only.
class AccessLog {
 public:
  /// `path`: "-" is the standard output; empty: nothing is written. Throws dtutils::Error. Setup
  /// only.
  explicit AccessLog(const std::string& path);

  struct Entry {
    std::string_view client;
    const Request& request;
    int status;
    std::uint64_t bytes;
    Outcome outcome;
    std::int64_t milliseconds;
  };
  bool enabled() const noexcept { return static_cast<bool>(file_); }
  /// `now` in milliseconds since 1970.
  void add(const Entry& entry, std::int64_t now);
  void flush() noexcept;
  /// Opens the file of that name again, after it was moved away.
  void reopen();

 private:
  std::string path_;
  Socket file_;
  std::string lines_;
  std::int64_t second_ = -1;
  std::string time_;
};

}  // namespace proxy
