// SPDX-License-Identifier: MIT
// Wrong on purpose: so much belongs into a buffer.
#include <array>

#include "dsfabric/dsfabric.hpp"

dsfabric::CallStatus send(dsfabric::SendChannel& calls, dsfabric::ThreadId to) {
  const std::array<char, 4096> text{};
  return calls.call(to, [text] { (void)text; });
}
// expected: Pass the data with call_buffer
