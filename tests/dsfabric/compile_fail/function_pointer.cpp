// SPDX-License-Identifier: MIT
// Wrong on purpose: where a function lies differs from process to process.
#include "dsfabric/dsfabric.hpp"

dsfabric::CallStatus send(dsfabric::SendChannel& calls, dsfabric::ThreadId to) {
  return calls.call(
      to, +[] {});
}
// expected: a pointer to a function
