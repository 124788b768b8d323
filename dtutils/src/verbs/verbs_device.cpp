// SPDX-License-Identifier: MIT
// The control path of libibverbs, with failures as sentences.
#include "verbs/verbs_device.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cassert>
#include <cerrno>

#include "dtutils/error.hpp"
#include "dtutils/limits.hpp"
#include "host_id.hpp"
#include "verbs/endpoint_choice.hpp"
#include "verbs/explanations.hpp"

namespace dtutils::verbs {
namespace {

/// More inline bytes than this are not looked for: fetching them costs less than copying them.
constexpr std::uint32_t kMostInline = 1024;

/// Soft-RoCE takes 7, the largest value, for "for ever" (rxe_comp.c, COMPST_ERROR_RETRY), and then
/// requests to a peer that is gone never complete.
constexpr std::uint8_t kMostRetries = 6;

constexpr int kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

const char* state_in_words(ibv_qp_state state) {
  constexpr const char* kWords[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return state < std::size(kWords) ? kWords[state] : "unknown";
}

std::string remedy_for_transition(int code) {
  switch (code) {
    case EINVAL:
      return "look at the order of the states (RESET, INIT, RTR, RTS), at the attributes that this "
             "one needs, and whether both sides use GIDs of the same type (see DeviceInfo::reason)";
    case ETIMEDOUT:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENODATA:
    case EPROTONOSUPPORT:
      return "there is no route from this device's GID to the peer's: try `ping` between the two "
             "addresses, and fix DeviceOptions::gid_index on both sides if the choice was wrong";
    default:
      return "the kernel log may say more (`dmesg`)";
  }
}

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
  return channel;
}

void VerbsDevice::destroy_comp_channel(ibv_comp_channel* channel) noexcept {
  [[maybe_unused]] const int code = ::ibv_destroy_comp_channel(channel);
  assert(code != EBUSY && "a completion queue of this channel still exists");
}

ibv_cq* VerbsDevice::wait_event(ibv_comp_channel* channel, std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end =
      Clock::now() + std::min(timeout, std::chrono::milliseconds(1 << 30));
  pollfd events{channel->fd, POLLIN, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    const int ready = ::poll(&events, 1, std::max(0, static_cast<int>(left.count())));
    if (ready == 0) return nullptr;
    if (ready > 0) break;
    if (errno != EINTR) {
      throw Error(fmt::format("{}: completion channel", info_.name), "cannot wait for events",
                  "was its file descriptor closed?", errno);
    }
  }
  ibv_cq* cq = nullptr;
  void* user_context = nullptr;
  if (::ibv_get_cq_event(channel, &cq, &user_context) != 0) {
    throw Error(fmt::format("{}: completion channel", info_.name), "cannot read an event",
                "was the device removed (`dmesg`)?", errno);
  }
  ::ibv_ack_cq_events(cq, 1);
  return cq;
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

void VerbsDevice::check_limits(const ibv_qp_init_attr& attributes) const {
  const std::string object = fmt::format("{}: queue pair", info_.name);
  if (attributes.qp_type != IBV_QPT_RC) {
    throw Error(
        object,
        fmt::format("transport type {} is not supported", static_cast<int>(attributes.qp_type)),
        "ask for a reliable connection (IBV_QPT_RC)", EINVAL);
  }
  const auto check = [&](const char* what, std::uint32_t asked, std::uint32_t allowed) {
    if (asked > allowed) {
      throw Error(object, fmt::format("{} of {} is more than the device allows", what, asked),
                  fmt::format("ask for at most {}", allowed), EINVAL);
    }
  };
  check("a send depth", attributes.cap.max_send_wr, info_.max_work_requests);
  check("a receive depth", attributes.cap.max_recv_wr, info_.max_work_requests);
  check("a number of send elements", attributes.cap.max_send_sge, info_.max_scatter_gather);
  check("a number of receive elements", attributes.cap.max_recv_sge, info_.max_scatter_gather);
}

ibv_qp* VerbsDevice::create_qp(ibv_pd* pd, ibv_qp_init_attr& attributes) {
  check_limits(attributes);
  for (std::uint32_t inlined = std::min(attributes.cap.max_inline_data, info_.max_inline);;
       inlined /= 2) {
    ibv_qp_init_attr granted = attributes;
    granted.cap.max_inline_data = inlined;
    if (ibv_qp* qp = ::ibv_create_qp(pd, &granted)) {
      attributes = granted;
      return qp;
    }
    const int code = errno;
    if (inlined > 0) continue;
    throw Error(fmt::format("{}: queue pair with {} sends and {} receives", info_.name,
                            attributes.cap.max_send_wr, attributes.cap.max_recv_wr),
                "cannot be made",
                code == EINVAL
                    ? "ask for fewer requests or elements: their product counts, too"
                    : remedy_for_pinning(
                          code, std::size_t{attributes.cap.max_send_wr} * sizeof(ibv_send_wr),
                          memlock_limit()),
                code);
  }
}

void VerbsDevice::destroy_qp(ibv_qp* qp) noexcept { ::ibv_destroy_qp(qp); }

void VerbsDevice::modify_qp(ibv_qp* qp, ibv_qp_attr& attributes, int mask) {
  if ((mask & IBV_QP_RETRY_CNT) != 0) {
    attributes.retry_cnt = std::min(attributes.retry_cnt, kMostRetries);
  }
  const int code = ::ibv_modify_qp(qp, &attributes, mask);
  if (code == 0) return;
  const std::string happened =
      (mask & IBV_QP_STATE) != 0
          ? fmt::format("cannot go from state {} to {}", state_in_words(qp_state(qp)),
                        state_in_words(attributes.qp_state))
          : fmt::format("cannot take the attributes {:#x}", mask);
  throw Error(fmt::format("{}: queue pair {:#x}", info_.name, qp->qp_num), happened,
              remedy_for_transition(code), code);
}

ibv_qp_state VerbsDevice::qp_state(ibv_qp* qp) noexcept {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr initial{};
  // A device that no longer answers has no working queue pair either.
  return ::ibv_query_qp(qp, &attributes, IBV_QP_STATE, &initial) == 0 ? attributes.qp_state
                                                                      : IBV_QPS_ERR;
}

bool VerbsDevice::data_in_order(ibv_qp* qp, ibv_wr_opcode opcode) noexcept {
  return ::ibv_query_qp_data_in_order(qp, opcode, 0) == 1;
}

std::uint32_t VerbsDevice::find_max_inline() {
  ibv_pd* pd = alloc_pd();
  ibv_cq* cq = ::ibv_create_cq(context_.get(), 1, nullptr, nullptr, 0);
  std::uint32_t granted = 0;
  // Bisects: [0, granted] works, [refused, ...] does not.
  for (std::uint32_t refused = kMostInline + 1; cq != nullptr && granted + 1 < refused;) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = cq;
    attributes.recv_cq = cq;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {1, 1, std::min(kScatterGather, info_.max_scatter_gather), 1,
                      granted + (refused - granted) / 2};
    const std::uint32_t asked = attributes.cap.max_inline_data;
    ibv_qp* qp = ::ibv_create_qp(pd, &attributes);
    if (qp != nullptr && attributes.cap.max_inline_data >= asked) {
      granted = asked;
    } else {
      refused = asked;
    }
    if (qp != nullptr) ::ibv_destroy_qp(qp);
  }
  if (cq != nullptr) ::ibv_destroy_cq(cq);
  dealloc_pd(pd);
  return granted;
}

}  // namespace dtutils::verbs
