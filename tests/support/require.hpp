// SPDX-License-Identifier: MIT
// Checks that also work in the second process of a test, where Catch2's do not.
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <string_view>

#include "support/device_under_test.hpp"

namespace support {

/// Throws std::runtime_error with `text`, file and line.
[[noreturn]] void fail(std::string_view text,
                       std::source_location where = std::source_location::current());

/// Fails with `text` unless `condition` holds.
void require(bool condition, std::string_view text,
             std::source_location where = std::source_location::current());

/// Fails unless the two values, numbers of any kind, are equal.
template <class Actual, class Expected>
void require_equal(Actual actual, Expected expected, std::string_view what,
                   std::source_location where = std::source_location::current()) {
  if (actual == expected) return;
  fail(std::string(what) + " is " + std::to_string(actual) + ", not " + std::to_string(expected),
       where);
}

/// Calls `condition` until it is true; false when `limit` is over first.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = kPatience);

}  // namespace support
