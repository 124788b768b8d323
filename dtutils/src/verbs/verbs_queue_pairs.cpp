// SPDX-License-Identifier: MIT
// The queue pairs of a libibverbs device, with failures as sentences.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <string>

#include "attribute_ranges.hpp"
#include "dtutils/error.hpp"
#include "dtutils/limits.hpp"
#include "verbs/explanations.hpp"
#include "verbs/verbs_device.hpp"

namespace dtutils::verbs {
namespace {

/// More inline bytes than this are not looked for: fetching them costs less than copying them.
constexpr std::uint32_t kMaxInline = 1024;

const char* state_in_words(ibv_qp_state state) {
  constexpr const char* kWords[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return state < std::size(kWords) ? kWords[state] : "unknown";
}

std::string remedy_for_transition(int code) {
  switch (code) {
    case EINVAL:
      return "check the order of the states (RESET, INIT, RTR, RTS), the attributes that this "
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
  const std::string object = fmt::format("{}: queue pair {:#x}", info_.name, qp->qp_num);
  check_ranges(object, attributes, mask);
  if ((mask & IBV_QP_RETRY_CNT) != 0) {
    attributes.retry_cnt = std::min(attributes.retry_cnt, kRetryCount);
  }
  const int code = ::ibv_modify_qp(qp, &attributes, mask);
  if (code == 0) return;
  const std::string happened =
      (mask & IBV_QP_STATE) != 0
          ? fmt::format("cannot go from state {} to {}", state_in_words(qp_state(qp)),
                        state_in_words(attributes.qp_state))
          : fmt::format("cannot take the attributes {:#x}", mask);
  throw Error(object, happened, remedy_for_transition(code), code);
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
  for (std::uint32_t refused = kMaxInline + 1; cq != nullptr && granted + 1 < refused;) {
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
