// SPDX-License-Identifier: MIT
// What the sanitizers must be told when a thread goes on on another stack.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace riutils::detail {

/// One stack as AddressSanitizer and ThreadSanitizer know it; empty functions without them.
/// Source: sanitizer/common_interface_defs.h, sanitizer/tsan_interface.h.
class SanitizedStack {
 public:
  /// A fiber's.
  void make([[maybe_unused]] const void* bottom, [[maybe_unused]] std::size_t size) noexcept {
#if defined(__SANITIZE_ADDRESS__)
    bottom_ = bottom;
    size_ = size;
#endif
#if defined(__SANITIZE_THREAD__)
    thread_ = __tsan_create_fiber(0);
#endif
  }
  /// The one of the calling thread.
  void use_thread_stack() noexcept {
#if defined(__SANITIZE_ADDRESS__)
    pthread_attr_t attributes;
    void* bottom = nullptr;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &bottom, &size_);
      pthread_attr_destroy(&attributes);
    }
    bottom_ = bottom;
#endif
#if defined(__SANITIZE_THREAD__)
    thread_ = __tsan_get_current_fiber();
#endif
  }
  void unmake() noexcept {
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(thread_);
#endif
  }

  /// Just before the switch.
  void leave_for([[maybe_unused]] SanitizedStack& next) noexcept {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&fake_, next.bottom_, next.size_);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(next.thread_, 0);
#endif
  }
  /// Around a visit to `other` by code that is not ours and comes back at once. For
  /// AddressSanitizer the thread stays here, but gives out no frames of its own meanwhile: those of
  /// the visit outlive it.
  void visit([[maybe_unused]] SanitizedStack& other) noexcept {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&fake_, bottom_, size_);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(other.thread_, 0);
#endif
  }
  void end_visit() noexcept {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_, nullptr, nullptr);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(thread_, 0);
#endif
  }
  /// Just after a switch to this stack from `last`.
  void arrive_from([[maybe_unused]] SanitizedStack& last) noexcept {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_, &last.bottom_, &last.size_);
#endif
  }

 private:
#if defined(__SANITIZE_ADDRESS__)
  void* fake_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
#endif
#if defined(__SANITIZE_THREAD__)
  void* thread_ = nullptr;
#endif
};

}  // namespace riutils::detail
