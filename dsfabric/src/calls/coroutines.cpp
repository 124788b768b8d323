// SPDX-License-Identifier: MIT
// What coroutines need: frames from a pool, a way for exceptions that nobody awaits, and results.

#include <array>
#include <bit>
#include <coroutine>
#include <exception>
#include <new>
#include <utility>

#include "dsfabric/detail/call_wrappers.hpp"
#include "dsfabric/detail/frame_pool.hpp"
#include "dsfabric/remote_future.hpp"

namespace dsfabric::detail {
namespace {

/// Sizes are 64, 128, ... 4096 bytes.
constexpr std::size_t kSmallestFrame = 64;
constexpr std::size_t kFrameSizes = 7;

std::size_t frame_class(std::size_t bytes) noexcept {
  return static_cast<std::size_t>(std::bit_width((bytes - 1) / kSmallestFrame));
}

struct FreeFrame {
  FreeFrame* next;
};

struct FreeFrames {
  std::array<FreeFrame*, kFrameSizes> lists{};

  FreeFrames() = default;
  FreeFrames(const FreeFrames&) = delete;
  FreeFrames& operator=(const FreeFrames&) = delete;
  ~FreeFrames() {
    for (FreeFrame* frame : lists) {
      while (frame != nullptr) {
        FreeFrame* const next = frame->next;
        ::operator delete(frame);
        frame = next;
      }
    }
  }
};

FreeFrames& free_frames() {
  thread_local FreeFrames mine;
  return mine;
}

/// What an upcall threw, or what had no upcall, inside of a coroutine of this thread.
std::exception_ptr& reported() {
  thread_local std::exception_ptr thrown;
  return thrown;
}

std::coroutine_handle<>& waiting_in(FutureState& state) noexcept {
  return *std::launder(reinterpret_cast<std::coroutine_handle<>*>(state.continuation));
}

}  // namespace

void report_in_coroutine(const CallContext& call, std::exception_ptr thrown) noexcept {
  try {
    call.fabric.report_exception(call, std::move(thrown));
  } catch (...) {
    reported() = std::current_exception();
  }
}

void throw_reported() {
  if (reported()) std::rethrow_exception(std::exchange(reported(), nullptr));
}

void resume_when_done(FutureState& state, std::coroutine_handle<> waiting) noexcept {
  new (state.continuation) std::coroutine_handle<>(waiting);
  state.pool.attach(
      state,
      [](FutureState& its) {
        waiting_in(its).resume();
        throw_reported();
      },
      // Its frame is going, or goes with the thread.
      [](FutureState&) noexcept {});
}

void* PooledFrame::operator new(std::size_t bytes) {
  const std::size_t size = frame_class(bytes);
  if (size >= kFrameSizes) return ::operator new(bytes);
  FreeFrame*& list = free_frames().lists[size];
  if (list == nullptr) return ::operator new(kSmallestFrame << size);
  FreeFrame* const frame = list;
  list = frame->next;
  return frame;
}

void PooledFrame::operator delete(void* frame, std::size_t bytes) noexcept {
  const std::size_t size = frame_class(bytes);
  if (size >= kFrameSizes) return ::operator delete(frame);
  FreeFrame*& list = free_frames().lists[size];
  list = new (frame) FreeFrame{list};
}

}  // namespace dsfabric::detail
