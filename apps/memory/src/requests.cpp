// SPDX-License-Identifier: MIT
// The request that brings a vector clock.
#include "requests.hpp"

namespace memory::detail {

Answer CausalWriteRequest::run(Home& there, dsfabric::ProcessId source) const {
  dsfabric::Fabric& fabric = there.fabric();
  const std::uint64_t clock = fabric.founders() * kWord;
  if (from.length < clock || from.length > 0xffff'ffffu) return {0, Status::kOutOfRange};
  const auto bytes = static_cast<std::uint32_t>(from.length);
  dtutils::RDMAMemory fetched = fabric.general_allocator().allocate(bytes);
  if (!fabric.transmitter(source).blocking_read(fetched.local(0, bytes), from)) {
    return {0, Status::kHomeFailed};  // the process that asked is gone
  }
  return there.causal_write(place, bytes - clock,
                            reinterpret_cast<const std::uint64_t*>(fetched.data()),
                            fetched.data() + clock, source);
}

}  // namespace memory::detail
