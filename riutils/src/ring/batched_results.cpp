// SPDX-License-Identifier: MIT
// BatchedResults: from the buffer into the ring.
#include "ring/batched_results.hpp"

#include "riutils/detail/outgoing_ring.hpp"
#include "riutils/detail/ring_header.hpp"
#include "riutils/ring_set.hpp"

namespace riutils {

bool BatchedResults::start(dsfabric::ThreadId to, std::uint32_t function,
                           std::uint32_t bytes) noexcept {
  if (ring_ != nullptr) send();
  if (!batching_) return false;
  ring_ = ring_set_.result_ring(to);
  if (ring_ == nullptr) {
    if (to == alone_) ring_set_.ask_for_result_ring(to);
    alone_ = to;
    return false;
  }
  to_ = to;
  function_ = function;
  bytes_ = bytes;
  begin_ = buffer_.data();
  at_ = begin_ + buffer_.size();
  return true;
}

void BatchedResults::send() noexcept {
  std::byte* const end = begin_ + buffer_.size();
  const auto count = static_cast<std::uint32_t>(end - at_) / detail::ring_stride(bytes_);
  // False: the process that waits for them is gone.
  (void)ring_->send_run(function_, bytes_, end, count);
  ring_ = nullptr;
  function_ = kNoFunction;
}

}  // namespace riutils
