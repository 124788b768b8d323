// SPDX-License-Identifier: MIT
// Checks that throw, and a bounded wait for a condition.
#include "support/require.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "dtutils/wait.hpp"

namespace support {

void fail(std::string_view text, Where where) {
  throw std::runtime_error(fmt::format("{} ({}:{})", text, where.file, where.line));
}

void require(bool condition, std::string_view text, Where where) {
  if (!condition) fail(text, where);
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  dtutils::Deadline deadline(limit);
  dtutils::Backoff backoff;
  while (!condition()) {
    if (deadline.passed()) return condition();
    backoff.pause();
  }
  return true;
}

}  // namespace support
