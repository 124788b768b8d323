// SPDX-License-Identifier: MIT
// The control path of libibverbs but for queue pairs, with failures as sentences.
#include "verbs/verbs_device.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cerrno>

#include "dtutils/error.hpp"
#include "dtutils/poll_until.hpp"
#include "host_id.hpp"
#include "verbs/endpoint_choice.hpp"
#include "verbs/explanations.hpp"

namespace dtutils::verbs {
namespace {

constexpr int kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

}  // namespace

VerbsDevice::VerbsDevice(Context context, const DeviceOptions& options)
    : context_(std::move(context)) {
  info_.name = ::ibv_get_device_name(context_->device);
  info_.kind = DeviceKind::kVerbs;
  if (context_->device->transport_type == IBV_TRANSPORT_IWARP) {
    throw Error(info_.name, "iWARP queue pairs connect through the RDMA connection manager only",
                "use an InfiniBand or RoCE device, or `shm` for processes of one host");
  }
  if (const int code = ::ibv_query_device(context_.get(), &limits_)) {
    throw Error(info_.name, "its limits cannot be read", "the kernel log may say more (`dmesg`)",
                code);
  }
  const EndpointChoice choice = choose_endpoint(info_.name, read_ports(context_.get()), options);
  info_.port = choice.port;
  info_.lid = choice.lid;
  info_.gid_index = choice.gid_index;
  info_.gid = choice.gid;
  info_.mtu = choice.mtu;
  info_.link_layer = choice.link_layer;
  info_.max_work_requests = static_cast<std::uint32_t>(limits_.max_qp_wr);
  info_.max_scatter_gather = static_cast<std::uint32_t>(limits_.max_sge);
  info_.max_completions = static_cast<std::uint32_t>(limits_.max_cqe);
  info_.max_queue_pairs = static_cast<std::uint32_t>(limits_.max_qp);
  info_.atomics = limits_.atomic_cap != IBV_ATOMIC_NONE;
  info_.atomics_with_cpu = limits_.atomic_cap == IBV_ATOMIC_GLOB;
  info_.host = host_id();
  info_.reason = choice.reason;
  info_.max_inline = find_max_inline();
}

ibv_pd* VerbsDevice::alloc_pd() {
  ibv_pd* pd = ::ibv_alloc_pd(context_.get());
  if (pd == nullptr) {
    throw Error(info_.name, "cannot make a protection domain",
                fmt::format("the device has {}: release some", limits_.max_pd), errno);
  }
  return pd;
}

void VerbsDevice::dealloc_pd(ibv_pd* pd) noexcept {
  [[maybe_unused]] const int code = ::ibv_dealloc_pd(pd);
  assert(code != EBUSY && "a region or queue of this protection domain still exists");
}

ibv_mr* VerbsDevice::reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  const std::string object =
      fmt::format("{}: region of {} at {}", info_.name, size_in_words(length), fmt::ptr(address));
  if ((access & ~kKnownAccess) != 0) {
    throw Error(object, fmt::format("access flags {:#x} are not supported", access & ~kKnownAccess),
                "use local write, remote write, remote read and remote atomic only");
  }
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
      (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    throw Error(object, "remote write or atomic access without local write access",
                "add IBV_ACCESS_LOCAL_WRITE", EINVAL);
  }
  if (length == 0 || length > limits_.max_mr_size) {
    throw Error(
        object, "its size is out of range",
        fmt::format("register between 1 byte and {} at once", size_in_words(limits_.max_mr_size)),
        EINVAL);
  }
  ibv_mr* mr = ::ibv_reg_mr(pd, address, length, access);
  if (mr == nullptr) {
    const int code = errno;
    throw Error(object, "cannot be registered", remedy_for_pinning(code, length, memlock_limit()),
                code);
  }
  return mr;
}

void VerbsDevice::dereg_mr(ibv_mr* mr) noexcept { ::ibv_dereg_mr(mr); }

ibv_comp_channel* VerbsDevice::create_comp_channel() {
  ibv_comp_channel* channel = ::ibv_create_comp_channel(context_.get());
  if (channel == nullptr) {
    throw Error(info_.name, "cannot make a completion channel",
                "it takes a file descriptor: close some, or raise `ulimit -n`", errno);
  }
  // So that an event is looked for and read by one system call.
  if (const int flags = ::fcntl(channel->fd, F_GETFL);
      flags < 0 || ::fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    const int code = errno;
    ::ibv_destroy_comp_channel(channel);
    throw Error(info_.name, "cannot make the descriptor of a completion channel non-blocking",
                "look into the kernel log (`dmesg`)", code);
  }
  return channel;
}

void VerbsDevice::destroy_comp_channel(ibv_comp_channel* channel) noexcept {
  [[maybe_unused]] const int code = ::ibv_destroy_comp_channel(channel);
  assert(code != EBUSY && "a completion queue of this channel still exists");
}

ibv_cq* VerbsDevice::wait_event(ibv_comp_channel* channel, std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const bool sleeps = timeout > timeout.zero();
  Clock::time_point end{};
  if (sleeps) end = Clock::now() + std::min(timeout, std::chrono::milliseconds(1 << 30));
  for (;;) {
    ibv_cq* cq = nullptr;
    void* user_context = nullptr;
    if (::ibv_get_cq_event(channel, &cq, &user_context) == 0) {
      ::ibv_ack_cq_events(cq, 1);
      return cq;
    }
    if (errno != EAGAIN && errno != EINTR) {
      throw Error(fmt::format("{}: completion channel", info_.name), "cannot read an event",
                  "was the device removed (`dmesg`)?", errno);
    }
    if (!sleeps) return nullptr;
    const int ready = poll_until(channel->fd, POLLIN, end);
    if (ready == 0) return nullptr;
    if (ready < 0) {
      throw Error(fmt::format("{}: completion channel", info_.name), "cannot wait for events",
                  "was its file descriptor closed?", errno);
    }
  }
}

ibv_cq* VerbsDevice::create_cq(int depth, ibv_comp_channel* channel) {
  const std::string object = fmt::format("{}: completion queue of {} entries", info_.name, depth);
  if (depth < 1 || depth > limits_.max_cqe) {
    throw Error(object, "its depth is out of range",
                fmt::format("ask for 1 to {}", limits_.max_cqe), EINVAL);
  }
  ibv_cq* cq = ::ibv_create_cq(context_.get(), depth, nullptr, channel, 0);
  if (cq == nullptr) {
    const int code = errno;
    throw Error(object, "cannot be made",
                remedy_for_pinning(code, depth * sizeof(ibv_wc), memlock_limit()), code);
  }
  return cq;
}

void VerbsDevice::destroy_cq(ibv_cq* cq) noexcept {
  [[maybe_unused]] const int code = ::ibv_destroy_cq(cq);
  assert(code != EBUSY && "a queue pair of this completion queue still exists");
}

ibv_srq* VerbsDevice::create_srq(ibv_pd* pd, ibv_srq_init_attr& attributes) {
  const std::string object =
      fmt::format("{}: shared receive queue of {} requests, {} elements each", info_.name,
                  attributes.attr.max_wr, attributes.attr.max_sge);
  if (attributes.attr.max_wr > static_cast<std::uint32_t>(limits_.max_srq_wr) ||
      attributes.attr.max_sge > static_cast<std::uint32_t>(limits_.max_srq_sge)) {
    throw Error(object, "larger than the device allows",
                fmt::format("ask for at most {} requests of {} elements", limits_.max_srq_wr,
                            limits_.max_srq_sge),
                EINVAL);
  }
  ibv_srq* srq = ::ibv_create_srq(pd, &attributes);
  if (srq == nullptr) {
    const int code = errno;
    throw Error(object, "cannot be made",
                remedy_for_pinning(code, attributes.attr.max_wr * sizeof(ibv_sge), memlock_limit()),
                code);
  }
  return srq;
}

void VerbsDevice::destroy_srq(ibv_srq* srq) noexcept {
  [[maybe_unused]] const int code = ::ibv_destroy_srq(srq);
  assert(code != EBUSY && "a queue pair of this shared receive queue still exists");
}

}  // namespace dtutils::verbs
