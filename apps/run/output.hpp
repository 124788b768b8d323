// SPDX-License-Identifier: MIT
// The output of the processes: whole lines, each with its rank in front.
#pragma once

#include <string>

namespace run {

/// One stream of one process. Lines of different processes never mix, since each is written at
/// once.
class Output {
 public:
  /// Reads from `from` (owned) and writes to `to` (not owned) with `prefix` before each line; with
  /// an empty prefix it passes the bytes on as they come.
  Output(int from, int to, std::string prefix);
  Output(Output&& other) noexcept;
  Output& operator=(Output&&) = delete;
  ~Output();

  int fd() const noexcept { return from_; }
  bool open() const noexcept { return from_ >= 0; }
  /// Passes on what has arrived; at the end of the stream, a last line without its newline too.
  void forward();

 private:
  void write_lines();
  void close_stream();

  int from_;
  int to_;
  std::string prefix_;
  std::string pending_;
};

/// Writes all of `text`; gives up quietly when nobody reads any more.
void write_all(int fd, const std::string& text);

}  // namespace run
