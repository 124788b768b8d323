// SPDX-License-Identifier: MIT
// A database and what it replies, in the words of a test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/database.hpp"
#include "support/require.hpp"

namespace support {

/// Words between spaces.
inline std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end != 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// A reply with a space for each end of a line: "$1 a ".
inline std::string one_line(std::string reply) {
  std::string line;
  for (const char c : reply) {
    if (c != '\r') line += c == '\n' ? ' ' : c;
  }
  return line;
}

/// Runs commands on a database.
struct State {
  store::Database database;

  std::string operator()(std::string_view command) {
    const std::vector<std::string_view> words = words_of(command);
    const store::CommandInfo* const info = store::find_command(words[0]);
    require(info != nullptr, std::string(command));
    std::string out;
    store::Reply reply(&out);
    database.run(info->id, words, reply);
    return one_line(out);
  }
};

}  // namespace support
