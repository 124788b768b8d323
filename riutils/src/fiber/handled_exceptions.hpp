// SPDX-License-Identifier: MIT
// The exceptions that a stack handles just now: each fiber has its own.
#pragma once

#include <cstring>

namespace riutils::detail {

/// What the C++ runtime knows of the exceptions that a stack handles (__cxa_eh_globals of the
/// Itanium C++ ABI, section 2.2.2): handlers may wait inside a catch block.
struct HandledExceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

/// The handled exceptions of the thread's stack make way for those of a fiber.
class SwitchedExceptions {
 public:
  SwitchedExceptions(void* globals, HandledExceptions& fibers) noexcept
      : globals_(globals), fibers_(fibers) {
    std::memcpy(&threads_, globals_, sizeof threads_);
    std::memcpy(globals_, &fibers_, sizeof fibers_);
  }
  SwitchedExceptions(const SwitchedExceptions&) = delete;
  SwitchedExceptions& operator=(const SwitchedExceptions&) = delete;
  ~SwitchedExceptions() {
    std::memcpy(&fibers_, globals_, sizeof fibers_);
    std::memcpy(globals_, &threads_, sizeof threads_);
  }

 private:
  void* globals_;
  HandledExceptions& fibers_;
  HandledExceptions threads_;
};

}  // namespace riutils::detail
