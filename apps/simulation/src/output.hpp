// SPDX-License-Identifier: MIT
// The output of the nodes: whole lines, each with its node in front.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace simulation {

/// Stands in for a stream of stdio while nodes run, and for those of the standard library that go
/// the same way. What simulated threads write takes part in the digest. One of them runs at a time;
/// what other threads write passes as it is.
class NodeOutput {
 public:
  /// `stream` is stdout or stderr, `others` lead to the same place.
  NodeOutput(std::FILE*& stream, std::vector<std::ostream*> others, std::uint32_t nodes);
  NodeOutput(const NodeOutput&) = delete;
  NodeOutput& operator=(const NodeOutput&) = delete;
  /// Puts the streams back; lines without an end get one.
  ~NodeOutput();

  void write(std::string_view text);

 private:
  class Buffer;
  void write_line(std::uint32_t node, std::string_view line);

  std::FILE*& stream_;
  std::FILE* const before_;
  std::FILE* between_ = nullptr;
  std::vector<std::ostream*> others_;
  std::vector<std::streambuf*> others_before_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  /// Of each node, what is no whole line yet.
  std::vector<std::string> begun_;
};

}  // namespace simulation
