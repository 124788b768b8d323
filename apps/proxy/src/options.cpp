// SPDX-License-Identifier: MIT
// What the parts of a proxy share.
#include "proxy/options.hpp"

namespace proxy {
namespace {

/// Bytes that are read at once.
constexpr std::size_t kReadBytes = 128 << 10;

std::int64_t milliseconds_of(auto time) noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

Context::Context(const Options& chosen)
    : options(chosen), log(chosen.access_log), buffer(kReadBytes) {
  look_at_clocks();
}

void Context::look_at_clocks() noexcept {
  now = milliseconds_of(std::chrono::system_clock::now());
  steady = milliseconds_of(std::chrono::steady_clock::now());
}

}  // namespace proxy
