// SPDX-License-Identifier: MIT
// What a member knows of one client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/resp.hpp"

namespace store {

/// A connection without its socket. Owner thread only.
struct Client {
  explicit Client(std::size_t max_command) : parser(max_command) {}

  RespParser parser;
  /// Bytes to be sent to it. The server sends them and clears it.
  std::string out;
  /// Commands that have no reply yet.
  std::uint32_t outstanding = 0;
  /// Between MULTI and EXEC: the commands so far.
  bool in_multi = false;
  bool multi_failed = false;
  std::uint32_t queued_commands = 0;
  std::vector<std::byte> queued;
  /// Keys that it watches, with the numbers of their last changes.
  std::map<std::string, std::uint64_t, std::less<>> watched;
  /// Nothing more is read from it before its WATCH has run: EXEC must know what was found.
  bool holds = false;
  /// Its reads may be old (READONLY).
  bool stale_reads = false;
  /// In order.
  std::set<std::string, std::less<>> channels;
  /// Nothing more is read from it; it is closed when all replies are sent.
  bool quits = false;
  /// The connection is closed; what is outstanding runs for nobody.
  bool gone = false;
  /// It is in the list of those with something to do.
  bool marked = false;
};

}  // namespace store
