// SPDX-License-Identifier: MIT
// The numbers of a queue pair that have less than eight bits.
#include "attribute_ranges.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "dtutils/error.hpp"

namespace dtutils {
namespace {

struct Range {
  int bit;
  std::uint8_t ibv_qp_attr::*field;
  const char* name;
  int bits;
};

constexpr Range kRanges[] = {
    {IBV_QP_TIMEOUT, &ibv_qp_attr::timeout, "ack_timeout", 5},
    {IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt, "retry_count", 3},
    {IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry, "rnr_retry", 3},
    {IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer, "min_rnr_timer", 5},
};

}  // namespace

void check_ranges(std::string_view object, const ibv_qp_attr& attributes, int mask) {
  for (const Range& range : kRanges) {
    const int value = attributes.*range.field;
    const int most = (1 << range.bits) - 1;
    if ((mask & range.bit) == 0 || value <= most) continue;
    throw Error(object,
                fmt::format("its {} cannot be {}: it has {} bits", range.name, value, range.bits),
                fmt::format("take a number from 0 to {} (ibv_modify_qp(3))", most), EINVAL);
  }
}

}  // namespace dtutils
