// SPDX-License-Identifier: MIT
// Calls as messages: sending, and what happens when one arrives.
#include "dsfabric/send_channel.hpp"

#include <fmt/format.h>

#include <cstring>

#include "calls/call_tables.hpp"
#include "dsfabric/detail/arguments.hpp"
#include "dsfabric/detail/call_record.hpp"
#include "dsfabric/detail/inside.hpp"
#include "dtutils/detail/scope_exit.hpp"
#include "dtutils/error.hpp"

namespace dsfabric {

std::byte* SendChannel::reserve(ThreadId to, std::uint32_t function, std::uint32_t bytes) {
  const detail::RecordHeader header{index_at(to, function), bytes};
  std::optional<SendSpace>& space = spaces_.at(waiting_);
  {
    ++waiting_;
    const dtutils::detail::ScopeExit done([&]() noexcept { --waiting_; });
    space.emplace(fabric_, to.process, detail::record_size(bytes));
  }
  // Not before: calls of handlers came in between.
  to_ = to;
  space_ = &space;
  if (!*space) return nullptr;
  std::memcpy(space->payload(), &header, sizeof header);
  return space->payload() + sizeof header;
}

bool SendChannel::commit(dtutils::Synchronizer* sent) noexcept {
  const bool done = (*space_)->commit(MessageKind::kCall, to_, sent);
  space_->reset();
  return done;
}

dtutils::Transmitter& SendChannel::transmitter(ThreadId to) {
  // Of a call that is about to be made: nobody closes its connection, so that it need not be
  // pinned.
  if (space_ != nullptr && *space_ && **space_ && to == to_) return (*space_)->transmitter();
  return fabric_.transmitter(to.process);
}

std::uint32_t SendChannel::index_at(ThreadId to, std::uint32_t function) const {
  const bool known = to.is_service() ? to.process.value < fabric_.processes() : fabric_.exists(to);
  if (!known) {
    throw dtutils::Error(fmt::format("call to thread {}", to), "this job has no such thread",
                         "ask Fabric::thread_of_rank or Thread::neighbour for one");
  }
  return detail::index_at(fabric_, to, function);
}

namespace detail {

bool send_record(Fabric& fabric, ThreadId to, std::uint32_t function, const void* callable,
                 std::uint32_t size, std::span<const std::byte> extra) {
  const std::uint32_t bytes = record_bytes(size, extra.size());
  SendSpace space(fabric, to.process, detail::record_size(bytes));
  if (!space) return false;
  const detail::RecordHeader header{index_at(fabric, to, function), bytes};
  std::memcpy(space.payload(), &header, sizeof header);
  std::memcpy(space.payload() + sizeof header, callable, size);
  if (!extra.empty()) {
    std::memcpy(space.payload() + sizeof header + size, extra.data(), extra.size());
  }
  return space.commit(MessageKind::kCall, to);
}

void refuse_record(std::size_t extra) {
  throw dtutils::Error(
      "call", fmt::format("its buffer or arguments take {} bytes, more than any record", extra),
      "pass the data as a buffer by RDMA (call_buffer)");
}

void require_one_copy(Fabric& fabric) {
  if (fabric.functions().is_of_this_copy()) return;
  throw dtutils::Error("call from a library",
                       "the library has a copy of Cariama's code beside that of the program, and "
                       "does not know its threads and functions",
                       "let both use one copy: build Cariama with -DBUILD_SHARED_LIBS=ON, or let "
                       "the program export its symbols (CMake: ENABLE_EXPORTS; g++: -rdynamic)");
}

std::uint32_t index_at(Fabric& fabric, ThreadId to, std::uint32_t function) {
  if (function == detail::kLateFunction) {
    require_one_copy(fabric);
    throw dtutils::Error(fmt::format("call to thread {}", to),
                         "its function came with a library that was loaded after join(), so the "
                         "processes have not agreed on it",
                         "load the library (dlopen) before join(), in every process that shall run "
                         "its functions");
  }
  const std::uint32_t index = Inside::calls(fabric).index_at(to.process.value, function);
  if (index == FunctionTable::kAbsent) {
    throw dtutils::Error(
        fmt::format("call to thread {}", to),
        fmt::format("its program has no function \"{}\"", fabric.functions().readable(function)),
        "start the same build everywhere, or give the callable a name (kCallName) "
        "in both programs, and register it there (register_function)");
  }
  return index;
}

}  // namespace detail

}  // namespace dsfabric
