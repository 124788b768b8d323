// SPDX-License-Identifier: MIT
// The simulated adapter: opening, registering, making and destroying.
#include "sim/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dtutils/error.hpp"
#include "dtutils/shared_segment.hpp"
#include "software/describe.hpp"
#include "software/limits.hpp"
#include "software/requests.hpp"

namespace dtutils {

std::unique_ptr<Device> open_sim_device(const DeviceOptions&) {
  if (sim::World* const world = sim::World::current()) {
    return std::make_unique<sim::SimDevice>(*world);
  }
  throw Error("device sim", "the calling thread is not simulated",
              "run the program in a simulation (dtutils/simulation.hpp, scripts/simulate)", ENODEV);
}

namespace sim {

using namespace software;

namespace {

constexpr std::uint64_t kGid = 0x6d6973616d616972;

ibv_gid to_gid(std::uint32_t device) noexcept {
  const std::uint64_t words[2] = {kGid, device};
  ibv_gid gid;
  std::memcpy(gid.raw, words, sizeof gid.raw);
  return gid;
}

}  // namespace

std::uint32_t SimDevice::number_of(const ibv_gid& gid) noexcept {
  std::uint64_t words[2];
  std::memcpy(words, gid.raw, sizeof words);
  return words[0] == kGid ? static_cast<std::uint32_t>(words[1]) : ~0u;
}

SimDevice::SimDevice(World& world)
    : world_(world), node_(world.running_node()), number_(world.add(*this)) {
  describe_device("sim", DeviceKind::kSim, verbs_device_, context_, info_);
  set_operations(context_);
  info_.gid = to_gid(number_);
  // As many numbers as there are.
  info_.max_queue_pairs = (1u << 24) - 1;
  info_.host = node_.number + 1;
  info_.reason = fmt::format("the adapter of node {} of a simulation, seed {}", node_.number,
                             world.options.seed);
}

SimDevice::~SimDevice() { world_.remove_device(number_); }

ibv_pd* SimDevice::alloc_pd() {
  auto pd = std::make_unique<ibv_pd>();
  pd->context = &context_;
  pd->handle = ++next_pd_;
  return pd.release();
}

void SimDevice::dealloc_pd(ibv_pd* pd) noexcept { delete pd; }

ibv_mr* SimDevice::reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  check_registration("sim", address, length, access, !SharedSegment::find(address, length));
  if (length > node_.memory) {
    throw Error("sim memory region", fmt::format("node {} has no memory left to pin", node_.number),
                "register less", ENOMEM);
  }
  if (free_regions_.empty() && regions_.size() == kMaxRegions) {
    throw Error("sim memory region", "all entries are taken", "deregister some", ENOMEM);
  }
  std::uint32_t index = static_cast<std::uint32_t>(regions_.size());
  if (free_regions_.empty()) {
    regions_.emplace_back();
  } else {
    index = free_regions_.back();
    free_regions_.pop_back();
  }
  node_.memory -= length;
  Region& region = regions_[index];
  region.generation = next_generation(region.generation);
  region.key = (region.generation << 16) | index;
  region.address = reinterpret_cast<std::uint64_t>(address);
  region.length = length;
  region.access = static_cast<std::uint32_t>(access);
  region.pd = pd->handle;
  return new ibv_mr(describe_region(pd, address, length, index, region.key));
}

void SimDevice::dereg_mr(ibv_mr* mr) noexcept {
  regions_[mr->handle].key = 0;
  free_regions_.push_back(mr->handle);
  node_.memory += mr->length;
  delete mr;
}

bool SimDevice::grants(std::uint32_t key, bool local, std::uint64_t address, std::uint64_t length,
                       std::uint32_t access, std::uint32_t pd) const noexcept {
  const bool is_local = (key & kLocalKeyBit) != 0;
  const std::uint32_t index = region_index(key);
  if (is_local != local || index >= regions_.size()) return false;
  const Region& region = regions_[index];
  return region.key != 0 && region.key == (key & ~kLocalKeyBit) && region.pd == pd &&
         (access == ~0u || (region.access & access) != 0) &&
         within(address, length, region.address, region.length);
}

ibv_comp_channel* SimDevice::create_comp_channel() {
  auto channel = std::make_unique<Channel>(world_);
  channel->verbs.context = &context_;
  return &channel.release()->verbs;
}

void SimDevice::destroy_comp_channel(ibv_comp_channel* channel) noexcept { let_go(channel); }

void SimDevice::let_go(ibv_comp_channel* raw) noexcept {
  auto* channel = reinterpret_cast<Channel*>(raw);
  if (channel != nullptr && --channel->users == 0) delete channel;
}

void SimDevice::let_go(ibv_cq* raw) noexcept {
  auto* queue = reinterpret_cast<CompletionQueue*>(raw);
  if (--queue->users != 0) return;
  if (queue->channel != nullptr) {
    queue->channel->forget(*queue);
    let_go(&queue->channel->verbs);
  }
  delete queue;
}

void SimDevice::let_go(ibv_srq* raw) noexcept {
  auto* queue = reinterpret_cast<SharedReceiveQueue*>(raw);
  if (--queue->users == 0) delete queue;
}

ibv_cq* SimDevice::wait_event(ibv_comp_channel* raw, std::chrono::milliseconds timeout) {
  auto* channel = reinterpret_cast<Channel*>(raw);
  const Time longest = std::chrono::nanoseconds(
                           std::min<std::chrono::milliseconds>(timeout, std::chrono::hours(10'000)))
                           .count();
  const Time end = world_.time() + longest;
  for (;;) {
    if (CompletionQueue* const queue = channel->take()) return &queue->verbs;
    if (world_.time() >= end) return nullptr;
    world_.watch_until(end);
  }
}

ibv_cq* SimDevice::create_cq(int depth, ibv_comp_channel* raw) {
  check_completion_queue("sim", depth);
  auto* channel = reinterpret_cast<Channel*>(raw);
  auto queue =
      std::make_unique<CompletionQueue>(world_, node_, channel, static_cast<std::uint32_t>(depth));
  if (channel != nullptr) ++channel->users;
  queue->verbs.context = &context_;
  queue->verbs.channel = raw;
  queue->verbs.cqe = depth;
  return &queue.release()->verbs;
}

void SimDevice::destroy_cq(ibv_cq* queue) noexcept { let_go(queue); }

ibv_srq* SimDevice::create_srq(ibv_pd* pd, ibv_srq_init_attr& attributes) {
  const ibv_srq_attr& asked = attributes.attr;
  check_shared_receive_queue("sim", asked);
  auto queue = std::make_unique<SharedReceiveQueue>(world_);
  queue->queue.depth = asked.max_wr;
  queue->queue.max_sge = std::max(asked.max_sge, 1u);
  queue->queue.pd = pd->handle;
  queue->verbs.context = &context_;
  queue->verbs.pd = pd;
  return &queue.release()->verbs;
}

void SimDevice::destroy_srq(ibv_srq* queue) noexcept { let_go(queue); }

ibv_qp* SimDevice::create_qp(ibv_pd* pd, ibv_qp_init_attr& attributes) {
  check_queue_pair("sim", attributes);
  auto pair = std::make_unique<QueuePair>(*this, attributes, pd->handle);
  pairs_.push_back(pair.get());
  pair->verbs = describe_queue_pair(pd, attributes, 0, static_cast<std::uint32_t>(pairs_.size()));
  ++reinterpret_cast<CompletionQueue*>(attributes.send_cq)->users;
  ++reinterpret_cast<CompletionQueue*>(attributes.recv_cq)->users;
  if (attributes.srq != nullptr) ++reinterpret_cast<SharedReceiveQueue*>(attributes.srq)->users;
  return &pair.release()->verbs;
}

void SimDevice::destroy_qp(ibv_qp* qp) noexcept {
  const ibv_qp used = *qp;
  pairs_[qp->qp_num - 1] = nullptr;
  delete &from_verbs(qp);
  let_go(used.send_cq);
  let_go(used.recv_cq);
  if (used.srq != nullptr) let_go(used.srq);
}

void SimDevice::modify_qp(ibv_qp* qp, ibv_qp_attr& attributes, int mask) {
  from_verbs(qp).modify(attributes, mask);
}

ibv_qp_state SimDevice::qp_state(ibv_qp* qp) noexcept { return from_verbs(qp).state(); }

bool SimDevice::data_in_order(ibv_qp*, ibv_wr_opcode) noexcept { return false; }

QueuePair* SimDevice::find(std::uint32_t qp_num) noexcept {
  return qp_num - 1 < pairs_.size() ? pairs_[qp_num - 1] : nullptr;
}

namespace {

int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad) noexcept {
  return from_verbs(qp).post_send(request, bad);
}
int post_recv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad) noexcept {
  return from_verbs(qp).post_receive(request, bad);
}
int post_srq_recv(ibv_srq* raw, ibv_recv_wr* request, ibv_recv_wr** bad) noexcept {
  auto& shared = *reinterpret_cast<SharedReceiveQueue*>(raw);
  *bad = request;
  return World::current() == &shared.world ? shared.queue.post(request, bad) : EPERM;
}
int poll_cq(ibv_cq* raw, int count, ibv_wc* into) noexcept {
  return reinterpret_cast<CompletionQueue*>(raw)->poll(count, into);
}
int req_notify_cq(ibv_cq* raw, int solicited_only) noexcept {
  return reinterpret_cast<CompletionQueue*>(raw)->arm(solicited_only != 0);
}

}  // namespace

void set_operations(ibv_context& context) noexcept {
  context.ops.post_send = post_send;
  context.ops.post_recv = post_recv;
  context.ops.post_srq_recv = post_srq_recv;
  context.ops.poll_cq = poll_cq;
  context.ops.req_notify_cq = req_notify_cq;
}

}  // namespace sim
}  // namespace dtutils
