// SPDX-License-Identifier: MIT
// Checks that also work in the second process of a test, where Catch2's do not.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "support/device_under_test.hpp"
#include "support/where.hpp"

namespace support {

/// Throws std::runtime_error with `text`, file and line.
[[noreturn]] void fail(std::string_view text, Where where = Where::current());

/// Fails with `text` unless `condition` holds.
void require(bool condition, std::string_view text, Where where = Where::current());

/// The same for the answer of a call (dsfabric::CallStatus): it must be that the call was accepted.
template <class Status>
requires requires { Status::kAccepted; }
void require(Status status, std::string_view text, Where where = Where::current()) {
  require(status == Status::kAccepted, text, where);
}

/// Fails unless the two values, numbers of any kind, are equal.
template <class Actual, class Expected>
void require_equal(Actual actual, Expected expected, std::string_view what,
                   Where where = Where::current()) {
  if (actual == expected) return;
  fail(std::string(what) + " is " + std::to_string(actual) + ", not " + std::to_string(expected),
       where);
}

/// Calls `condition` until it is true; false when `limit` is over first.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = kPatience);

}  // namespace support
