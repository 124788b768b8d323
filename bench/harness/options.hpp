// SPDX-License-Identifier: MIT
// The command line that all benches share.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "bench/harness/constants.hpp"
#include "bench/harness/round.hpp"

namespace bench {

struct Options {
  bool list = false;
  bool smoke = false;
  bool check = false;
  std::string filter;  // regular expression searched in case ids; empty: all
  std::string json;    // file to write; empty: none
  int runs = kDefaultRuns;
  double batch_ms = kBatchMs;
  Limits near;
  double patience_s = kPatienceSeconds;
};

/// An option of one bench's own. The parser writes to `*value`.
struct OwnOption {
  std::string flag;
  std::string* value;
  std::string help;
};

/// Thrown when the command line asks for nothing to run: --help (status 0, text for stdout) or a
/// mistake (status 2, text for stderr).
class UsageExit : public std::runtime_error {
 public:
  UsageExit(int status, const std::string& text) : std::runtime_error(text), status_(status) {}
  int status() const noexcept { return status_; }

 private:
  int status_;
};

/// Reads `arguments` (without the program's name). Fewer than kMinRuns runs are a mistake unless
/// --smoke is given, which by itself sets short batches and kSmokeRuns runs. Throws UsageExit.
Options parse_options(const std::string& program, const std::string& description,
                      const std::vector<std::string>& arguments,
                      const std::vector<OwnOption>& own = {});

}  // namespace bench
