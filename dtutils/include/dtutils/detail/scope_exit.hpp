// SPDX-License-Identifier: MIT
// Runs something at the end of a scope, also when an exception leaves it.
#pragma once

#include <utility>

namespace dtutils::detail {

/// `const ScopeExit done([&]() noexcept { ... });` runs the callable when `done` goes out of scope.
template <class F>
class [[nodiscard]] ScopeExit {
 public:
  /// Does not run it.
  explicit ScopeExit(F exit) noexcept : exit_(std::move(exit)) {}
  ScopeExit(const ScopeExit&) = delete;
  ScopeExit& operator=(const ScopeExit&) = delete;
  /// Runs it.
  ~ScopeExit() { exit_(); }

 private:
  F exit_;
};

}  // namespace dtutils::detail
