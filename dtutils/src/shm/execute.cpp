// SPDX-License-Identifier: MIT
// What the adapter's engine does with one work request: check it and move the bytes.
#include "shm/execute.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "dtutils/limits.hpp"
#include "shm/chaos.hpp"
#include "software/copy.hpp"
#include "software/shuffle.hpp"

namespace dtutils::shm {
namespace {

// Keys are loaded seq_cst, the local ones too: after the send lock; pairs with dereg_mr, see
// send_lock.hpp.
bool local_access_allowed(const QueuePair& qp, const ibv_sge& sge, bool write) noexcept {
  if (sge.length == 0) return true;
  const std::uint32_t key = sge.lkey & ~kLocalKeyBit;
  const RegionEntry& region = qp.own.shared().regions[region_index(key)];
  return sge.lkey != key && region.key.load(std::memory_order_seq_cst) == key &&
         region.pd == qp.pd && (!write || (region.access & IBV_ACCESS_LOCAL_WRITE) != 0) &&
         within(sge.addr, sge.length, region.address, region.length);
}

bool all_local_access_allowed(const QueuePair& qp, const ibv_send_wr& request,
                              bool write) noexcept {
  if ((request.send_flags & IBV_SEND_INLINE) != 0) return true;
  return std::all_of(request.sg_list, request.sg_list + request.num_sge,
                     [&](const ibv_sge& sge) { return local_access_allowed(qp, sge, write); });
}

void place(QueuePair& qp, void* to, const void* from, std::size_t length) noexcept {
  if (place_word(to, from, length)) return;
  if (qp.chaos != nullptr) {
    place_bytes_shuffled(to, from, length, qp.chaos->random());
  } else {
    place_bytes(to, from, length);
  }
}

/// Calls `move(begin, length)`, a call of process_vm_readv or process_vm_writev for a part of the
/// range at `to`, until all is moved; 0 or an errno value.
template <class Move>
int copy_in_pieces(QueuePair& qp, std::uint64_t to, std::size_t length, Move move) noexcept {
  if (qp.chaos == nullptr) return move(0, length);
  // Each piece is a system call.
  constexpr std::size_t kMaxPieces = 32;
  const std::size_t piece = std::max(kCacheLine, std::bit_ceil(length / kMaxPieces));
  int code = 0;
  for_each_piece_shuffled(to, length, piece, qp.chaos->random(),
                          [&](std::size_t begin, std::size_t part) {
                            if (code == 0) code = move(begin, part);
                          });
  return code;
}

/// Places what may be long, and stops in the middle when the peer takes back what it granted: it
/// waits for us then.
int place_all(QueuePair& qp, const Translation& region, void* to, const void* from,
              std::size_t length) noexcept {
  auto* into = static_cast<std::byte*>(to);
  const auto* bytes = static_cast<const std::byte*>(from);
  for (; length > kLongCopy; length -= kLongCopy, into += kLongCopy, bytes += kLongCopy) {
    place(qp, into, bytes, kLongCopy);
    if (!region.is_live()) return IBV_WC_REM_ACCESS_ERR;
    if (qp.remote->gate.load(std::memory_order_relaxed) != qp.remote_gate) {
      qp.vendor_error = kPeerClosed;
      return IBV_WC_RETRY_EXC_ERR;
    }
  }
  place(qp, into, bytes, length);
  return IBV_WC_SUCCESS;
}

/// `code` is the errno value of process_vm_readv or process_vm_writev.
int copy_failed(QueuePair& qp, int code) noexcept {
  if (code == ESRCH) {
    qp.vendor_error = kPeerDied;
    return IBV_WC_RETRY_EXC_ERR;
  }
  if (code != EPERM && qp.peer->can_copy()) return IBV_WC_REM_OP_ERR;
  qp.vendor_error = kCannotCopy;
  return IBV_WC_GENERAL_ERR;
}

/// Remembers the regions of a write that was found to be in order.
void open_window(QueuePair& qp, const ibv_send_wr& request, const Translation& region) noexcept {
  if (region.local == nullptr || qp.chaos != nullptr || !qp.deferred.empty()) return;
  qp.window.rkey = region.key;
  qp.window.remote = &region;
  // Of several elements the first may be an empty one, whose key nobody looked at.
  if ((request.send_flags & IBV_SEND_INLINE) != 0 || request.num_sge != 1) return;
  const std::uint32_t lkey = request.sg_list[0].lkey;
  qp.window.lkey = lkey;
  qp.window.local = &qp.own.shared().regions[region_index(lkey & ~kLocalKeyBit)];
}

/// True when the peer's gate is open for this side. The first request claims it.
bool is_connected(QueuePair& qp) noexcept {
  // seq_cst, both: after the send lock; pairs with the owner that closes the gate, see
  // send_lock.hpp.
  std::uint64_t gate = qp.remote->gate.load(std::memory_order_seq_cst);
  if (gate == qp.remote_gate) return true;
  if (qp.gate_claimed || gate != unclaimed_gate(qp.remote_gate)) return false;
  qp.gate_claimed = qp.remote->gate.compare_exchange_strong(gate, qp.remote_gate);
  return qp.gate_claimed;
}

const Translation* readable_region(QueuePair& qp, const ibv_send_wr& request,
                                   std::uint64_t length) noexcept {
  return remote_region(qp, request.wr.rdma.remote_addr, length, request.wr.rdma.rkey,
                       IBV_ACCESS_REMOTE_READ);
}

int read_memory(QueuePair& qp, const ibv_send_wr& request) noexcept {
  const std::uint64_t length = total_length(request);
  if (length == 0) return IBV_WC_SUCCESS;
  const Translation* region = readable_region(qp, request, length);
  if (region == nullptr) return no_region(qp);
  std::uint64_t address = request.wr.rdma.remote_addr;
  for (int i = 0; i < request.num_sge; ++i) {
    const ibv_sge& sge = request.sg_list[i];
    auto* to = reinterpret_cast<std::byte*>(sge.addr);
    if (region->local != nullptr) {
      const std::byte* from = region->local + (address - region->begin);
      const int status = place_all(qp, *region, to, from, sge.length);
      if (status != IBV_WC_SUCCESS) return status;
    } else {
      const int code =
          copy_in_pieces(qp, sge.addr, sge.length, [&](std::size_t begin, std::size_t part) {
            return qp.peer->read_remote(to + begin, address + begin, part);
          });
      if (code != 0) return copy_failed(qp, code);
    }
    address += sge.length;
  }
  return IBV_WC_SUCCESS;
}

int change_target(QueuePair& qp, const ibv_send_wr& request, std::uint64_t& old_value) noexcept {
  const auto& atomic = request.wr.atomic;
  if (total_length(request) != kWord) return IBV_WC_LOC_LEN_ERR;
  if ((atomic.remote_addr & (kWord - 1)) != 0) return IBV_WC_REM_INV_REQ_ERR;
  const Translation* region =
      remote_region(qp, atomic.remote_addr, kWord, atomic.rkey, IBV_ACCESS_REMOTE_ATOMIC);
  if (region == nullptr) return no_region(qp);
  if (region->local == nullptr) return IBV_WC_REM_ACCESS_ERR;
  auto* target =
      reinterpret_cast<std::uint64_t*>(region->local + (atomic.remote_addr - region->begin));
  if (request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    old_value = __atomic_fetch_add(target, atomic.compare_add, __ATOMIC_ACQ_REL);
  } else {
    old_value = atomic.compare_add;
    __atomic_compare_exchange_n(target, &old_value, atomic.swap, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
  }
  return IBV_WC_SUCCESS;
}

void bring_old_value(const ibv_send_wr& request, std::uint64_t old_value) noexcept {
  const auto* from = reinterpret_cast<const std::byte*>(&old_value);
  for (int i = 0; i < request.num_sge; ++i) {
    const ibv_sge& sge = request.sg_list[i];
    place_bytes(reinterpret_cast<void*>(sge.addr), from, sge.length);
    from += sge.length;
  }
}

int atomic_operation(QueuePair& qp, const ibv_send_wr& request) noexcept {
  std::uint64_t old_value = 0;
  const int status = change_target(qp, request, old_value);
  if (status == IBV_WC_SUCCESS) bring_old_value(request, old_value);
  return status;
}

}  // namespace

const Translation* find_region(QueuePair& qp, std::uint32_t key, std::uint32_t pd) noexcept {
  const Translation* region = qp.region;
  if (region == nullptr || region->key != key) {
    Refusal refusal = Refusal::kNone;
    region = qp.peer->regions().find(key, refusal);
    if (refusal != Refusal::kNone) {
      qp.vendor_error = refusal == Refusal::kDamaged ? kDamaged : kCannotMap;
    }
    if (region == nullptr) return nullptr;
    qp.region = region;
  }
  return region->is_live() && region->pd == pd ? region : nullptr;
}

int no_region(const QueuePair& qp) noexcept {
  const bool refused = qp.vendor_error == kCannotMap || qp.vendor_error == kDamaged;
  return refused ? IBV_WC_GENERAL_ERR : IBV_WC_REM_ACCESS_ERR;
}

const Translation* remote_region(QueuePair& qp, std::uint64_t address, std::uint64_t length,
                                 std::uint32_t rkey, std::uint32_t access) noexcept {
  const Translation* region = find_region(qp, rkey, qp.remote->pd);
  const std::uint32_t granted = qp.remote->access.load(std::memory_order_relaxed);
  const bool allowed = region != nullptr && (region->access & granted & access) != 0 &&
                       within(address, length, region->begin, region->length);
  return allowed ? region : nullptr;
}

int to_remote(QueuePair& qp, const Translation& region, std::uint64_t address, const void* from,
              std::size_t length) noexcept {
  if (region.local != nullptr) {
    return place_all(qp, region, region.local + (address - region.begin), from, length);
  }
  const auto* bytes = static_cast<const std::byte*>(from);
  const int code = copy_in_pieces(qp, address, length, [&](std::size_t begin, std::size_t part) {
    return qp.peer->write_remote(address + begin, bytes + begin, part);
  });
  return code == 0 ? IBV_WC_SUCCESS : copy_failed(qp, code);
}

int write_memory(QueuePair& qp, const ibv_send_wr& request, std::uint64_t length) noexcept {
  if (length == 0) return IBV_WC_SUCCESS;
  std::uint64_t address = request.wr.rdma.remote_addr;
  const Translation* region =
      remote_region(qp, address, length, request.wr.rdma.rkey, IBV_ACCESS_REMOTE_WRITE);
  if (region == nullptr) return no_region(qp);
  open_window(qp, request, *region);
  for (int i = 0; i < request.num_sge; ++i) {
    const ibv_sge& sge = request.sg_list[i];
    const int status =
        to_remote(qp, *region, address, reinterpret_cast<const void*>(sge.addr), sge.length);
    if (status != IBV_WC_SUCCESS) return status;
    address += sge.length;
  }
  return IBV_WC_SUCCESS;
}

int begin_answer(QueuePair& qp, const ibv_send_wr& request, std::uint64_t& old_value) noexcept {
  if (!is_connected(qp)) return kNotConnected;
  if (!all_local_access_allowed(qp, request, true)) return IBV_WC_LOC_PROT_ERR;
  if (request.opcode != IBV_WR_RDMA_READ) return change_target(qp, request, old_value);
  const std::uint64_t length = total_length(request);
  return length == 0 || readable_region(qp, request, length) != nullptr
             ? static_cast<int>(IBV_WC_SUCCESS)
             : no_region(qp);
}

int finish_answer(QueuePair& qp, const ibv_send_wr& request, std::uint64_t old_value) noexcept {
  // The program may have taken its memory back, and the peer its own or the connection.
  if (!all_local_access_allowed(qp, request, true)) return IBV_WC_LOC_PROT_ERR;
  if (request.opcode != IBV_WR_RDMA_READ) {
    bring_old_value(request, old_value);
    return IBV_WC_SUCCESS;
  }
  if (is_connected(qp)) return read_memory(qp, request);
  qp.vendor_error = qp.peer->dead() ? kPeerDied : kPeerClosed;
  return IBV_WC_RETRY_EXC_ERR;
}

int execute(QueuePair& qp, const ibv_send_wr& request) noexcept {
  if (!is_connected(qp)) return kNotConnected;
  if (!all_local_access_allowed(qp, request, brings_data(request.opcode))) {
    return IBV_WC_LOC_PROT_ERR;
  }
  switch (request.opcode) {
    case IBV_WR_RDMA_WRITE:
      return write_memory(qp, request, total_length(request));
    case IBV_WR_RDMA_READ:
      return read_memory(qp, request);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return atomic_operation(qp, request);
    default:
      return send_message(qp, request);
  }
}

}  // namespace dtutils::shm
