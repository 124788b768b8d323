// SPDX-License-Identifier: MIT
// What happens to a request at the adapter of the peer.
#include <algorithm>
#include <cstring>

#include "dtutils/limits.hpp"
#include "sim/device.hpp"
#include "software/copy.hpp"
#include "software/requests.hpp"
#include "software/rnr_timer.hpp"
#include "software/shuffle.hpp"

namespace dtutils::sim {

using namespace software;

namespace {

/// Takes bytes into the digest, but for words that may be addresses, which differ from one process
/// to the next.
void note_bytes(World& world, std::uint64_t address, const std::byte* bytes,
                std::size_t length) noexcept {
  std::size_t at = 0;
  while (at < length) {
    std::uint64_t word = 0;
    const std::size_t part = std::min(length - at, kWord - ((address + at) & (kWord - 1)));
    std::memcpy(&word, bytes + at, part);
    const bool like_an_address = word >> 40 != 0 && word >> 47 == 0;
    world.note(like_an_address ? 1 : word);
    at += part;
  }
}

/// What a queue pair grants to its peer.
unsigned granted(const ibv_qp_attr& given) noexcept {
  constexpr unsigned kAnswers = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  return given.qp_access_flags & (given.max_dest_rd_atomic != 0 ? ~0u : ~kAnswers);
}

}  // namespace

QueuePair* QueuePair::peer() noexcept {
  SimDevice* const device = world_.device(SimDevice::number_of(given_.ah_attr.grh.dgid));
  QueuePair* const target = device != nullptr ? device->find(given_.dest_qp_num) : nullptr;
  if (target == nullptr || (target->state_ != IBV_QPS_RTR && target->state_ != IBV_QPS_RTS) ||
      target->given_.dest_qp_num != verbs.qp_num ||
      SimDevice::number_of(target->given_.ah_attr.grh.dgid) != device_.number()) {
    return nullptr;
  }
  // Who is reset and connected anew has lost count of the packets, and so has its peer.
  const bool first = executed_ == first_ && target->given_.rq_psn == given_.sq_psn;
  const bool fits = target->heard_ == 0 ? first : target->heard_ == connection_;
  return fits ? target : nullptr;
}

bool QueuePair::may_use(const Request& request, bool to_write) noexcept {
  const std::uint32_t access = to_write ? std::uint32_t{IBV_ACCESS_LOCAL_WRITE} : ~0u;
  return std::all_of(request.elements.begin(), request.elements.end(), [&](const ibv_sge& each) {
    return each.length == 0 || device_.grants(each.lkey, true, each.addr, each.length, access, pd_);
  });
}

QueuePair::Outcome QueuePair::execute(Request& request) noexcept {
  QueuePair* const target = peer();
  if (target == nullptr || !world_.reachable(device_.node(), target->device_.node())) {
    return Outcome::kNoAnswer;
  }
  if (!request.was_lost && world_.random.once_in(world_.options.disorder.lost)) {
    request.was_lost = true;
    return Outcome::kNoAnswer;
  }
  target->heard_ = connection_;
  switch (request.work.opcode) {
    case IBV_WR_RDMA_WRITE:
      return write(request, *target);
    case IBV_WR_RDMA_READ:
      return read(request, *target);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return change(request, *target);
    default:
      return message(request, *target);
  }
}

QueuePair::Outcome QueuePair::refuse(Request& request, QueuePair& target,
                                     ibv_wc_status status) noexcept {
  request.status = status;
  if (breaks_responder(status)) target.break_off(IBV_WC_WR_FLUSH_ERR);
  return Outcome::kFailed;
}

bool QueuePair::lets(const Request& request, std::uint64_t length,
                     std::uint32_t access) const noexcept {
  const bool atomic = access == IBV_ACCESS_REMOTE_ATOMIC;
  const std::uint64_t address =
      atomic ? request.work.wr.atomic.remote_addr : request.work.wr.rdma.remote_addr;
  const std::uint32_t key = atomic ? request.work.wr.atomic.rkey : request.work.wr.rdma.rkey;
  return device_.grants(key, false, address, length, access & granted(given_), pd_);
}

QueuePair::Outcome QueuePair::write(Request& request, QueuePair& target) noexcept {
  if (request.length == 0) return Outcome::kDone;
  if (!target.lets(request, request.length, IBV_ACCESS_REMOTE_WRITE)) {
    return refuse(request, target, IBV_WC_REM_ACCESS_ERR);
  }
  const Disorder& disorder = world_.options.disorder;
  const bool tears = !request.torn && request.length > sizeof(std::uint64_t) &&
                     world_.random.once_in(request.length > kCacheLine ? disorder.torn_writes
                                                                       : disorder.torn_lines);
  if (tears) {
    request.torn = true;
    request.order = world_.random.next();
    place(request, Part::kFirst);
  } else {
    place(request, Part::kAll);
  }
  world_.stir(target.device_.node());
  return tears ? Outcome::kTorn : Outcome::kDone;
}

QueuePair::Outcome QueuePair::execute_rest(Request& request) noexcept {
  QueuePair* const target = peer();
  if (target == nullptr || !world_.reachable(device_.node(), target->device_.node())) {
    return Outcome::kNoAnswer;
  }
  if (!target->lets(request, request.length, IBV_ACCESS_REMOTE_WRITE)) {
    return refuse(request, *target, IBV_WC_REM_ACCESS_ERR);
  }
  place(request, Part::kSecond);
  world_.stir(target->device_.node());
  return Outcome::kDone;
}

void QueuePair::place(const Request& request, Part part) noexcept {
  const std::uint64_t address = request.work.wr.rdma.remote_addr;
  auto* const to = reinterpret_cast<std::byte*>(address);
  if (part == Part::kAll) {
    place_bytes(to, request.bytes.data(), request.length);
  } else if (request.length <= kCacheLine) {
    const std::uint64_t words = (request.length - 1) / sizeof(std::uint64_t);
    std::size_t split = (1 + request.order % words) * sizeof(std::uint64_t);
    // Words are those of the target.
    split -= std::min<std::size_t>(address % sizeof(std::uint64_t), split - 1);
    const bool first = part == Part::kFirst;
    place_bytes(to + (first ? 0 : split), request.bytes.data() + (first ? 0 : split),
                first ? split : request.length - split);
  } else {
    // The same order of cache lines both times, of which each part takes a half.
    std::size_t index = 0;
    const std::size_t half = request.length / kCacheLine / 2 + 1;
    for_each_piece_shuffled(address, request.length, kCacheLine, request.order,
                            [&](std::size_t begin, std::size_t length) {
                              if ((index++ < half) != (part == Part::kFirst)) return;
                              place_bytes(to + begin, request.bytes.data() + begin, length);
                            });
  }
  if (part != Part::kFirst) note_bytes(world_, address, request.bytes.data(), request.length);
}

QueuePair::Outcome QueuePair::read(Request& request, QueuePair& target) noexcept {
  request.bytes.clear();
  if (request.length == 0) return Outcome::kDone;
  if (!target.lets(request, request.length, IBV_ACCESS_REMOTE_READ)) {
    return refuse(request, target, IBV_WC_REM_ACCESS_ERR);
  }
  const auto* from = reinterpret_cast<const std::byte*>(request.work.wr.rdma.remote_addr);
  request.bytes.resize(request.length);
  place_bytes(request.bytes.data(), from, request.length);
  note_bytes(world_, request.work.wr.rdma.remote_addr, request.bytes.data(), request.length);
  return Outcome::kDone;
}

QueuePair::Outcome QueuePair::change(Request& request, QueuePair& target) noexcept {
  const auto& atomic = request.work.wr.atomic;
  if (request.length != kWord) return refuse(request, target, IBV_WC_LOC_LEN_ERR);
  if ((atomic.remote_addr & (kWord - 1)) != 0) {
    return refuse(request, target, IBV_WC_REM_INV_REQ_ERR);
  }
  if (!target.lets(request, kWord, IBV_ACCESS_REMOTE_ATOMIC)) {
    return refuse(request, target, IBV_WC_REM_ACCESS_ERR);
  }
  auto* const word = reinterpret_cast<std::uint64_t*>(atomic.remote_addr);
  std::uint64_t old_value = atomic.compare_add;
  if (request.work.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    old_value = __atomic_fetch_add(word, atomic.compare_add, __ATOMIC_ACQ_REL);
  } else {
    __atomic_compare_exchange_n(word, &old_value, atomic.swap, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
  }
  world_.note(old_value);
  request.bytes.resize(kWord);
  std::memcpy(request.bytes.data(), &old_value, kWord);
  world_.stir(target.device_.node());
  return Outcome::kDone;
}

QueuePair::Outcome QueuePair::message(Request& request, QueuePair& target) noexcept {
  const bool writes = request.work.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (writes && request.length != 0 &&
      !target.lets(request, request.length, IBV_ACCESS_REMOTE_WRITE)) {
    return refuse(request, target, IBV_WC_REM_ACCESS_ERR);
  }
  rnr_time_ = 1000 * Time{rnr_timer_microseconds(target.given_.min_rnr_timer)};
  if (given_.rnr_retry != 0 && !request.was_refused &&
      world_.random.once_in(world_.options.disorder.not_ready)) {
    request.was_refused = true;
    return Outcome::kNotReady;
  }
  if (target.receives_->receives.empty()) return Outcome::kNotReady;
  const Receive& receive = target.receives_->receives.front();
  ibv_wc work{};
  work.wr_id = receive.id;
  work.opcode = writes ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  work.byte_len = static_cast<std::uint32_t>(request.length);
  work.qp_num = target.verbs.qp_num;
  work.src_qp = verbs.qp_num;
  if (has_immediate(request.work.opcode)) {
    work.wc_flags = IBV_WC_WITH_IMM;
    work.imm_data = request.work.imm_data;
  }
  if (writes) {
    if (request.length != 0) place(request, Part::kAll);
  } else {
    work.status = scatter(request, receive, target);
  }
  target.receives_->receives.pop();
  const bool solicited = (request.work.send_flags & IBV_SEND_SOLICITED) != 0;
  if (!target.receive_completions_.push({work, target.serial_, 0}, solicited)) {
    return refuse(request, target, IBV_WC_REM_OP_ERR);
  }
  if (work.status == IBV_WC_SUCCESS) return Outcome::kDone;
  return refuse(request, target,
                work.status == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR);
}

ibv_wc_status QueuePair::scatter(const Request& request, const Receive& receive,
                                 QueuePair& target) noexcept {
  const std::byte* from = request.bytes.data();
  std::uint64_t left = request.length;
  for (const ibv_sge& into : receive.elements) {
    const std::uint64_t part = std::min<std::uint64_t>(left, into.length);
    if (part == 0) continue;
    if (!target.device_.grants(into.lkey, true, into.addr, part, IBV_ACCESS_LOCAL_WRITE,
                               target.receives_->pd)) {
      return IBV_WC_LOC_PROT_ERR;
    }
    place_bytes(reinterpret_cast<void*>(into.addr), from, part);
    note_bytes(world_, into.addr, from, part);
    from += part;
    left -= part;
  }
  return left == 0 ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
}

}  // namespace dtutils::sim
