// SPDX-License-Identifier: MIT
// Runs another project's bench program as a yardstick and reads one figure from what it prints.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// A program that is its own server and client (such as ucx_perftest), or a client alone.
struct External {
  std::string program;                   // looked up in PATH
  std::vector<std::string> server = {};  // arguments of the server; empty: there is none
  std::vector<std::string> client = {};  // arguments of the client
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string pattern = {};  // regular expression; group 1 of its last match counts
  double scale = 1.0;        // from the program's unit to the case's
  std::chrono::milliseconds head_start{300};  // given to the server to start listening
  std::chrono::seconds limit{30};
};

/// True when `program` can be found in PATH and executed.
bool installed(const std::string& program);

/// Group 1 of the last match of `pattern` in `text`, as a number. Throws Skip with the end of
/// `text` when there is none.
double parse_figure(const std::string& text, const std::string& pattern);

/// Runs it and returns the scaled figure. Throws Skip with the reason when it is not installed,
/// fails, prints no figure or exceeds the limit: a peer's trouble does not cost the bench its own
/// figures. Both processes are gone when this returns or throws. The client is pinned to the first
/// of `cores` (Channel::cores()), the server to the second. Meant for a variant without `assist` in
/// a case with max_iterations = 1.
double run_external(const External& external, const std::vector<int>& cores);

}  // namespace bench
