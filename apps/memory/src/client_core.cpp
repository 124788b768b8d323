// SPDX-License-Identifier: MIT
// ClientCore: which way each operation takes.
#include "memory/detail/client_core.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "client_calls.hpp"
#include "memory/client.hpp"
#include "memory/space.hpp"

namespace memory::detail {

using Step = Operation::Step;

ClientCore::ClientCore(Space& space, const ClientOptions& options)
    : state_(std::make_unique<ClientState>(space.state_, options)),
      hits_(state_->hits),
      space_(space) {}

ClientCore::~ClientCore() = default;

Place ClientCore::allocate(std::size_t count, std::size_t each, std::uint32_t type,
                           Placement placement, Kind kind) {
  ClientState& state = *state_;
  dsfabric::Fabric& fabric = state.space.fabric;
  if (count == 0 || count > std::numeric_limits<std::uint32_t>::max() / each) {
    throw dtutils::Error("memory::Client::allocate",
                         fmt::format("{} times {} bytes are no segment", count, each),
                         "a segment has 1 byte at least, and less than 4 GiB");
  }
  dsfabric::ProcessId home = state.self;
  std::uint32_t zone = state.zone;
  switch (placement.where) {
    case Placement::Where::kHere:
      break;
    case Placement::Where::kThere:
      home = placement.thread.process;
      zone = 0;
      break;
    case Placement::Where::kSpread:
      for (std::size_t tries = 0; tries < state.space.homes.size(); ++tries) {
        home.value = static_cast<std::uint16_t>(state.next_home++ % state.space.homes.size());
        if (fabric.state(home) == dsfabric::PeerState::kActive) break;
      }
      zone = home == state.self ? state.zone : 0;
      break;
    case Placement::Where::kNear: {
      home = placement.thread.process;
      zone = 0;
      if (home.value >= state.space.homes.size()) break;
      if (!fabric.exists(placement.thread)) {
        throw dtutils::Error(
            "memory::Client::allocate",
            fmt::format("process {} has no worker {}", home.value, placement.thread.index),
            "place segments near workers that exist (Fabric::exists), or there() in a process");
      }
      const auto& zones = fabric.info(home).zones;
      for (std::uint32_t i = 0; i < zones.size(); ++i) {
        if (zones[i].node == fabric.zone_of(placement.thread).node) zone = i;
      }
      break;
    }
  }
  if (home.value >= state.space.homes.size()) {
    throw dtutils::Error("memory::Client::allocate",
                         fmt::format("the job has no process {}", home.value),
                         "place segments in processes of the job");
  }
  const std::size_t length = count * each;
  Place wanted;
  wanted.place = std::uint64_t{home.value} << 48 | std::uint64_t{zone} << 40;
  const Answer answer = state.ask(home, AllocateRequest{0, length, zone, type, kind});
  if (answer.status == Status::kNoMemory) {
    throw dtutils::Error(
        "memory::Client::allocate",
        fmt::format("process {} has no memory left for a segment of {} bytes", home.value, length),
        "give a larger SpaceOptions::bytes, free segments, or place them elsewhere (spread())");
  }
  require(answer.status, wanted, "allocating global memory", space_);
  return {answer.value, answer.generation | static_cast<std::uint32_t>(kind) << 24,
          static_cast<std::uint32_t>(length), type, 0};
}

Status ClientCore::free(const Place& place) {
  const Status bad = state_->check(place, 0);
  if (bad != Status::kDone) return bad;
  const Status status = state_->ask(place.home(), FreeRequest{0, place}).status;
  if (status == Status::kDone || status == Status::kFreed) state_->forget(place);
  return status;
}

Status ClientCore::read_checked(const Place& place, void* into, std::size_t bytes, ReadMode mode) {
  const Status bad = state_->check(place, bytes);
  if (bad != Status::kDone || bytes == 0) return bad;
  if (place.kind() == Kind::kPlain) return state_->read_plain(place, into, bytes);
  std::uint64_t version = 0;
  switch (mode) {
    case ReadMode::kCached:
      return state_->read_cached(place, into, bytes);
    case ReadMode::kSubscribed:
      return state_->read_subscribed(place, into, bytes);
    default:
      return state_->fetch(place, {place.first, bytes}, into, version);
  }
}

Status ClientCore::read_direct(const Place& place, dtutils::LocalBuffer into) {
  const Status bad = state_->check(place, into.length);
  if (bad != Status::kDone || into.length == 0) return bad;
  return place.kind() == Kind::kPlain ? state_->read_plain_direct(place, into)
                                      : state_->read_direct(place, into);
}

Status ClientCore::write(const Place& place, const void* from, std::size_t bytes,
                         WriteOptions options) {
  const Status bad = state_->check(place, bytes);
  if (bad != Status::kDone || bytes == 0) return bad;
  if (options.causal) return state_->write_causal(place, from, bytes);
  if (place.kind() == Kind::kPlain) return state_->write_plain(place, from, bytes);
  if (options.mode == WriteMode::kOneSided) {
    const Status status = state_->write_one_sided(place, from, bytes);
    if (status != Status::kAgain) return status;
  }
  return state_->write_by_call(place, from, bytes);
}

Status ClientCore::atomic(const Place& place, bool compare, std::uint64_t compare_or_add,
                          std::uint64_t swap, std::uint64_t& before) {
  const Status bad = state_->check(place, kWord);
  if (bad != Status::kDone) return bad;
  if (place.first % kWord != 0) return Status::kMisaligned;
  if (place.kind() == Kind::kPlain) {
    return state_->atomic_plain(place, compare, compare_or_add, swap, before);
  }
  const Answer answer =
      state_->ask(place.home(), AtomicRequest{0, place, compare_or_add, swap, compare ? 1u : 0u});
  before = answer.value;
  return answer.status;
}

void ClientCore::start_read(Status known, const Place& place, void* into, std::size_t bytes,
                            ReadMode mode, const Completion& completion) {
  ClientState& state = *state_;
  if (known == Status::kDone) known = state.check(place, bytes);
  const bool plain = place.kind() == Kind::kPlain;
  const bool runs = known == Status::kDone && bytes != 0;
  // Of the whole segment, because a read for the cache fetches that.
  const std::uint64_t scratch = !runs   ? 0
                                : plain ? ClientState::kPlainData + bytes
                                : mode == ReadMode::kValidated
                                    ? state.scratch_for(place, {place.first, bytes})
                                    : state.scratch_for(place, {0, place.length});
  Operation& operation = state.take(scratch);
  operation.place = place;
  operation.into = into;
  operation.bytes = bytes;
  operation.completion = completion;
  if (!runs) {
    state.end(operation, known);
  } else if (plain) {
    operation.step = Step::kPlain;
    operation.brings = true;
    if (!state.post_plain_read(operation, place, bytes)) state.end(operation, Status::kHomeFailed);
  } else {
    state.begin_read(operation, mode);
  }
  state.start(operation);
}

void ClientCore::start_write(Status known, const Place& place, const void* from, std::size_t bytes,
                             WriteOptions options, const Completion& completion) {
  ClientState& state = *state_;
  if (known == Status::kDone) known = state.check(place, bytes);
  const bool plain = place.kind() == Kind::kPlain && !options.causal;
  const std::uint64_t before = options.causal ? state.clock_bytes()
                               : plain        ? ClientState::kPlainData
                                              : 0;
  const bool runs = known == Status::kDone && bytes != 0;
  Operation& operation = state.take(runs ? before + bytes : 0);
  operation.place = place;
  operation.into = nullptr;
  operation.bytes = bytes;
  operation.completion = completion;
  if (!runs) {
    state.end(operation, known);
    return state.start(operation);
  }
  std::memcpy(operation.scratch.data() + before, from, bytes);
  if (plain) {
    operation.step = Step::kPlain;
    operation.brings = false;
    if (!state.post_plain_write(operation, place, bytes)) state.end(operation, Status::kHomeFailed);
    return state.start(operation);
  }
  if (options.causal) {
    state.take_clock(place.home(), operation.scratch.data());
    operation.call = [](ClientState& its, Operation& write) {
      its.try_call(write, CausalWriteRequest{
                              its.space.homes[write.place.home().value].address, write.place,
                              write.scratch.remote().part(0, its.clock_bytes() + write.bytes)});
    };
  } else if (bytes > kCarriedBytes) {
    operation.call = [](ClientState& its, Operation& write) {
      its.try_call(write,
                   LongWriteRequest{its.space.homes[write.place.home().value].address, write.place,
                                    write.scratch.remote().part(0, write.bytes)});
    };
  } else {
    operation.call = [](ClientState& its, Operation& write) {
      with_write_request(write.place, write.scratch.data(), write.bytes, [&](auto& request) {
        request.home = its.space.homes[write.place.home().value].address;
        its.try_call(write, request);
      });
    };
  }
  operation.call(state, operation);
  state.start(operation);
}

void ClientCore::start_atomic(Status known, const Place& place, bool compare,
                              std::uint64_t compare_or_add, std::uint64_t swap,
                              std::uint64_t& before, const Completion& completion) {
  ClientState& state = *state_;
  if (known == Status::kDone) known = state.check(place, kWord);
  if (known == Status::kDone && place.first % kWord != 0) known = Status::kMisaligned;
  Operation& operation = state.take(ClientState::kPlainData + kWord);
  operation.place = place;
  operation.into = &before;
  operation.bytes = kWord;
  operation.completion = completion;
  if (known != Status::kDone) {
    state.end(operation, known);
  } else if (place.kind() == Kind::kPlain) {
    operation.step = Step::kPlain;
    operation.brings = true;
    if (!state.post_plain_atomic(operation, place, compare, compare_or_add, swap)) {
      state.end(operation, Status::kHomeFailed);
    }
  } else {
    operation.request.compare = compare;
    operation.request.first = compare_or_add;
    operation.request.second = swap;
    operation.call = [](ClientState& its, Operation& atomic) {
      const Operation::Request& request = atomic.request;
      its.try_call(atomic,
                   AtomicRequest{its.space.homes[atomic.place.home().value].address, atomic.place,
                                 request.first, request.second, request.compare ? 1u : 0u});
    };
    operation.call(state, operation);
  }
  state.start(operation);
}

bool ClientCore::progress() { return state_->progress(); }

void ClientCore::serve() { state_->serve(); }

std::size_t ClientCore::under_way() const noexcept { return state_->started.size(); }

dtutils::RemoteMemoryLocator ClientCore::locate(const Place& place) const noexcept {
  if (state_->check(place, 0) != Status::kDone || place.kind() != Kind::kPlain) return {};
  return state_->at(place, kHeader + place.first, place.length - place.first);
}

}  // namespace memory::detail
