// SPDX-License-Identifier: MIT
// Formats and gathers lines.
#include "proxy/access_log.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

#include "dtutils/error.hpp"
#include "proxy/text.hpp"

namespace proxy {
namespace {

constexpr std::size_t kGathered = 64 << 10;

Socket open_log(const std::string& path) {
  if (path.empty()) return {};
  Socket file(path == "-" ? ::dup(STDOUT_FILENO)
                          : ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file) {
    throw dtutils::Error(path, "the access log cannot be opened", "choose another file", errno);
  }
  return file;
}

void append_escaped(std::string& text, std::string_view word) {
  if (word.empty()) word = "-";
  for (const char c : word) {
    if (c < ' ' || c == '"' || c == '\\' || c == 0x7f) {
      fmt::format_to(std::back_inserter(text), "\\x{:02X}", static_cast<unsigned char>(c));
    } else {
      text.push_back(c);
    }
  }
}

}  // namespace

AccessLog::AccessLog(const std::string& path) : path_(path), file_(open_log(path)) {}

void AccessLog::add(const Entry& entry, std::int64_t now) {
  if (const std::int64_t second = now / 1000; second != second_) {
    second_ = second;
    time_ =
        fmt::format("{:%d/%b/%Y:%H:%M:%S} +0000", fmt::gmtime(static_cast<std::time_t>(second)));
  }
  const Request& request = entry.request;
  lines_.append(entry.client).append(" - - [").append(time_).append("] \"");
  append_escaped(lines_, request.method_name);
  lines_.append(" ");
  lines_.append(request.root());
  append_escaped(lines_, request.path);
  lines_.append(request.minor_version == 0 ? " HTTP/1.0\" " : " HTTP/1.1\" ");
  append_decimal(lines_, static_cast<std::uint64_t>(entry.status));
  lines_.append(" ");
  append_decimal(lines_, entry.bytes);
  lines_.append(" \"");
  append_escaped(lines_, request.fields.first(FieldId::kReferer));
  lines_.append("\" \"");
  append_escaped(lines_, request.fields.first(FieldId::kUserAgent));
  lines_.append("\" ").append(word_of(entry.outcome)).append(" ");
  append_decimal(lines_, static_cast<std::uint64_t>(entry.milliseconds));
  lines_.append("\n");
  if (lines_.size() > kGathered) flush();
}

void AccessLog::flush() noexcept {
  std::string_view rest = lines_;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_.fd(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  lines_.clear();
}

void AccessLog::reopen() {
  if (path_.empty() || path_ == "-") return;
  flush();
  file_ = open_log(path_);
}

}  // namespace proxy
