// SPDX-License-Identifier: MIT
// Wire format: the requests to a home, each a call to the service threads of its process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "dsfabric/call_context.hpp"
#include "dtutils/memory_region.hpp"
#include "home.hpp"

namespace memory::detail {

/// `home` of each request is the address of the Home there, which all processes have told each
/// other. Requests have names, so that different programs of a job understand each other.
template <class Request>
Answer run_request(const Request& request, dsfabric::CallContext& call) {
  return request.run(*reinterpret_cast<Home*>(request.home), call.source.process);
}

struct AllocateRequest {
  static constexpr std::string_view kCallName = "cariama.memory.allocate";
  std::uint64_t home;
  std::uint64_t length;
  std::uint32_t zone;
  std::uint32_t type;
  Kind kind;
  /// As Answer::unused.
  std::uint8_t unused[7] = {};
  Answer run(Home& there, dsfabric::ProcessId) const {
    return there.allocate(zone, length, type, kind);
  }
  Answer operator()(dsfabric::CallContext& call) const { return run_request(*this, call); }
};

struct FreeRequest {
  static constexpr std::string_view kCallName = "cariama.memory.free";
  std::uint64_t home;
  Place place;
  Answer run(Home& there, dsfabric::ProcessId) const { return there.free(place); }
  Answer operator()(dsfabric::CallContext& call) const { return run_request(*this, call); }
};

/// Carries its data.
template <std::size_t kBytes>
struct WriteRequest {
  static constexpr std::string_view kCallName = kBytes == 64    ? "cariama.memory.write_64"
                                                : kBytes == 256 ? "cariama.memory.write_256"
                                                                : "cariama.memory.write_1024";
  std::uint64_t home;
  Place place;
  std::uint64_t bytes;
  std::byte data[kBytes];
  Answer run(Home& there, dsfabric::ProcessId source) const {
    return bytes <= kBytes ? there.write(place, bytes, {data, {}}, source)
                           : Answer{0, Status::kOutOfRange};
  }
  Answer operator()(dsfabric::CallContext& call) const { return run_request(*this, call); }
};

/// Whoever reads or locks in vain asks: kDone is that he may try again.
struct ExamineRequest {
  static constexpr std::string_view kCallName = "cariama.memory.examine";
  std::uint64_t home;
  Place place;
  Answer run(Home& there, dsfabric::ProcessId) const { return there.examine(place); }
  Answer operator()(dsfabric::CallContext& call) const { return run_request(*this, call); }
};

/// The home fetches the data.
struct LongWriteRequest {
  static constexpr std::string_view kCallName = "cariama.memory.write_long";
  std::uint64_t home;
  Place place;
  dtutils::RemoteMemoryLocator from;
  Answer run(Home& there, dsfabric::ProcessId source) const {
    return there.write(place, from.length, {nullptr, from}, source);
  }
  Answer operator()(dsfabric::CallContext& call) const { return run_request(*this, call); }
};

/// The home fetches the clock, a count for each process, and the data behind it.
struct CausalWriteRequest {
  static constexpr std::string_view kCallName = "cariama.memory.write_causal";
  std::uint64_t home;
  Place place;
  dtutils::RemoteMemoryLocator from;
  Answer run(Home& there, dsfabric::ProcessId source) const;
  Answer operator()(dsfabric::CallContext& call) const { return run_request(*this, call); }
};

struct AtomicRequest {
  static constexpr std::string_view kCallName = "cariama.memory.atomic";
  std::uint64_t home;
  Place place;
  std::uint64_t compare_or_add;
  std::uint64_t swap;
  std::uint64_t compare;
  Answer run(Home& there, dsfabric::ProcessId) const {
    return there.atomic(place, compare != 0, compare_or_add, swap);
  }
  Answer operator()(dsfabric::CallContext& call) const { return run_request(*this, call); }
};

struct SubscribeRequest {
  static constexpr std::string_view kCallName = "cariama.memory.subscribe";
  std::uint64_t home;
  Place place;
  std::uint64_t address;
  std::uint32_t rkey;
  /// 1: subscribe, 0: the opposite.
  std::uint32_t wanted;
  Answer run(Home& there, dsfabric::ProcessId source) const {
    const Subscriber who{address, rkey, source.value};
    return wanted != 0 ? there.subscribe(place, who) : there.unsubscribe(place, who);
  }
  Answer operator()(dsfabric::CallContext& call) const { return run_request(*this, call); }
};

}  // namespace memory::detail
