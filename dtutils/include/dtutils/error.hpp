// SPDX-License-Identifier: MIT
// The one exception that set-up throws: what happened, on which object, and what to do next.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace dtutils {

/// Thrown by set-up (control path) functions only; the data path never throws. `what()` reads
/// "<object>: <what happened>; <what to do next>", in one sentence that a user can act on.
class Error : public std::runtime_error {
 public:
  /// `code` is an errno value, or 0 where none applies; its text is added to the message.
  Error(std::string_view object, std::string_view happened, std::string_view remedy, int code = 0);

  /// What it happened to.
  const std::string& object() const noexcept { return object_; }
  /// What to do next.
  const std::string& remedy() const noexcept { return remedy_; }
  /// errno of the failed call, or 0.
  int code() const noexcept { return code_; }

 private:
  std::string object_;
  std::string remedy_;
  int code_;
};

}  // namespace dtutils
