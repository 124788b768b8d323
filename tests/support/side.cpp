// SPDX-License-Identifier: MIT
// Ends of connections.
#include "support/side.hpp"

namespace support {
namespace {

dtutils::QueuePairOptions with_queue(dtutils::QueuePairOptions options,
                                     dtutils::SharedReceiveQueue* queue) {
  options.shared_receive_queue = queue;
  return options;
}

}  // namespace

Side::Side(dtutils::Device& device, const SideOptions& options)
    : pd(device),
      send_channel(device),
      receive_channel(device),
      sends(device, options.completions, &send_channel),
      receives(device, options.completions, &receive_channel),
      segment(options.memory, dtutils::PageKind::kSmall, -1),
      region(pd, segment.data(), segment.size(), options.access),
      shared_receives(options.shared_receives != 0 ? std::make_unique<dtutils::SharedReceiveQueue>(
                                                         pd, options.shared_receives)
                                                   : nullptr),
      qp(pd, sends, receives, with_queue(options.queue_pair, shared_receives.get())) {}

void connect(dtutils::QueuePair& one, dtutils::QueuePair& other) {
  one.connect(other.endpoint());
  other.connect(one.endpoint());
}

Pair::Pair(const SideOptions& options_a, const SideOptions& options_b)
    : device(open_device_under_test()), a(*device, options_a), b(*device, options_b) {
  connect(a.qp, b.qp);
}

}  // namespace support
