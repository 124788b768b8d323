// SPDX-License-Identifier: MIT
// The one place where send work requests are filled in, for QueuePair and Transmitter.
#pragma once

#include <arpa/inet.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dtutils/limits.hpp"
#include "dtutils/memory_region.hpp"

namespace dtutils::detail {

/// One ibv_send_wr and its only scatter/gather element, on the stack of a post. Fields that the
/// operation does not use stay unset: to clear all 128 bytes would be a good part of a small post.
/// Aligned as the stack is, so that no post has to align its frame.
class alignas(16) WorkRequest {
 public:
  /// A request of one element.
  WorkRequest(ibv_wr_opcode opcode, LocalBuffer local, std::uint64_t id, unsigned flags) noexcept
      : WorkRequest(opcode, local) {
    request_.wr_id = id;
    request_.send_flags = flags;
  }
  /// Without id and flags, which the caller sets in raw().
  WorkRequest(ibv_wr_opcode opcode, LocalBuffer local) noexcept {
    element_.addr = reinterpret_cast<std::uint64_t>(local.address);
    element_.length = local.length;
    element_.lkey = local.lkey;
    request_.next = nullptr;
    // What is the same in all posts of a loop leaves by one store, since the device's lock waits
    // for each store before it.
    const Pair elements{reinterpret_cast<std::uint64_t>(&element_),
                        std::bit_cast<std::uint64_t>(std::array<int, 2>{1, opcode})};
    static_assert(offsetof(ibv_send_wr, opcode) == offsetof(ibv_send_wr, sg_list) + 12);
    std::memcpy(&request_.sg_list, &elements, sizeof elements);
    // An element of length 0 means 2 GiB to some hardware, so no bytes means no element.
    if (local.length == 0) [[unlikely]]
      request_.num_sge = 0;
  }
  WorkRequest(const WorkRequest&) = delete;
  WorkRequest& operator=(const WorkRequest&) = delete;

  /// The far side of a READ or WRITE.
  WorkRequest& at(const RemoteMemoryLocator& remote) noexcept {
    request_.wr.rdma.remote_addr = remote.address;
    request_.wr.rdma.rkey = remote.rkey;
    return *this;
  }
  /// The far side of an atomic; `swap` is used by compare-and-swap only.
  WorkRequest& at(const RemoteMemoryLocator& remote, std::uint64_t compare_or_add,
                  std::uint64_t swap) noexcept {
    request_.wr.atomic.remote_addr = remote.address;
    request_.wr.atomic.rkey = remote.rkey;
    request_.wr.atomic.compare_add = compare_or_add;
    request_.wr.atomic.swap = swap;
    return *this;
  }
  /// The value that the completion at the peer carries, in host byte order.
  WorkRequest& immediate(std::uint32_t value) noexcept {
    request_.imm_data = htonl(value);
    return *this;
  }

  /// The request itself, valid as long as this object.
  ibv_send_wr& raw() noexcept { return request_; }

 private:
  using Pair [[gnu::vector_size(16)]] = std::uint64_t;

  ibv_send_wr request_;
  ibv_sge element_;
};

/// A write of one element that is posted again and again: only what may differ is filled in, and
/// the rest was stored long ago. Owner thread only.
class PreparedWrite {
 public:
  /// A request without addresses; fill() sets them.
  PreparedWrite() noexcept {
    request_.sg_list = &element_;
    request_.num_sge = 1;
    request_.opcode = IBV_WR_RDMA_WRITE;
  }
  PreparedWrite(const PreparedWrite&) = delete;
  PreparedWrite& operator=(const PreparedWrite&) = delete;

  /// `from` has at least one byte: see WorkRequest. Good until the next call. Without id and flags,
  /// which the caller sets.
  ibv_send_wr& fill(LocalBuffer from, const RemoteMemoryLocator& to) noexcept {
    element_.addr = reinterpret_cast<std::uint64_t>(from.address);
    element_.length = from.length;
    element_.lkey = from.lkey;
    request_.wr.rdma.remote_addr = to.address;
    request_.wr.rdma.rkey = to.rkey;
    return request_;
  }

 private:
  ibv_send_wr request_{};
  ibv_sge element_{};
};

}  // namespace dtutils::detail
