// SPDX-License-Identifier: MIT
// The states and attributes of a reliable connection as tables.
#include "software/steps.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>

#include "attribute_ranges.hpp"
#include "dtutils/error.hpp"

namespace dtutils::software {
namespace {

constexpr std::array kSteps{
    Step{IBV_QPS_RESET, IBV_QPS_INIT,
         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
    Step{IBV_QPS_INIT, IBV_QPS_INIT, 0,
         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    Step{IBV_QPS_INIT, IBV_QPS_RTR,
         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
         IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS},
    Step{IBV_QPS_RTR, IBV_QPS_RTS,
         IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT |
             IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY,
         IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
    Step{IBV_QPS_RTS, IBV_QPS_RTS, 0,
         IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
};

constexpr Step kToReset{IBV_QPS_UNKNOWN, IBV_QPS_RESET, IBV_QP_STATE, 0};
constexpr Step kToError{IBV_QPS_UNKNOWN, IBV_QPS_ERR, IBV_QP_STATE, 0};

struct Name {
  int bit;
  const char* text;
};
constexpr std::array kNames{
    Name{IBV_QP_STATE, "IBV_QP_STATE"},
    Name{IBV_QP_CUR_STATE, "IBV_QP_CUR_STATE"},
    Name{IBV_QP_EN_SQD_ASYNC_NOTIFY, "IBV_QP_EN_SQD_ASYNC_NOTIFY"},
    Name{IBV_QP_ACCESS_FLAGS, "IBV_QP_ACCESS_FLAGS"},
    Name{IBV_QP_PKEY_INDEX, "IBV_QP_PKEY_INDEX"},
    Name{IBV_QP_PORT, "IBV_QP_PORT"},
    Name{IBV_QP_QKEY, "IBV_QP_QKEY"},
    Name{IBV_QP_AV, "IBV_QP_AV"},
    Name{IBV_QP_PATH_MTU, "IBV_QP_PATH_MTU"},
    Name{IBV_QP_TIMEOUT, "IBV_QP_TIMEOUT"},
    Name{IBV_QP_RETRY_CNT, "IBV_QP_RETRY_CNT"},
    Name{IBV_QP_RNR_RETRY, "IBV_QP_RNR_RETRY"},
    Name{IBV_QP_RQ_PSN, "IBV_QP_RQ_PSN"},
    Name{IBV_QP_MAX_QP_RD_ATOMIC, "IBV_QP_MAX_QP_RD_ATOMIC"},
    Name{IBV_QP_ALT_PATH, "IBV_QP_ALT_PATH"},
    Name{IBV_QP_MIN_RNR_TIMER, "IBV_QP_MIN_RNR_TIMER"},
    Name{IBV_QP_SQ_PSN, "IBV_QP_SQ_PSN"},
    Name{IBV_QP_MAX_DEST_RD_ATOMIC, "IBV_QP_MAX_DEST_RD_ATOMIC"},
    Name{IBV_QP_PATH_MIG_STATE, "IBV_QP_PATH_MIG_STATE"},
    Name{IBV_QP_CAP, "IBV_QP_CAP"},
    Name{IBV_QP_DEST_QPN, "IBV_QP_DEST_QPN"},
    Name{IBV_QP_RATE_LIMIT, "IBV_QP_RATE_LIMIT"},
};

}  // namespace

const Step* find_step(ibv_qp_state from, ibv_qp_state to) noexcept {
  if (to == IBV_QPS_RESET) return &kToReset;
  if (to == IBV_QPS_ERR) return &kToError;
  for (const Step& step : kSteps) {
    if (step.from == from && step.to == to) return &step;
  }
  return nullptr;
}

void merge(ibv_qp_attr& known, const ibv_qp_attr& changed, int mask) noexcept {
  const auto take = [&](int bit, auto ibv_qp_attr::*field) {
    if ((mask & bit) != 0) known.*field = changed.*field;
  };
  take(IBV_QP_ACCESS_FLAGS, &ibv_qp_attr::qp_access_flags);
  take(IBV_QP_PKEY_INDEX, &ibv_qp_attr::pkey_index);
  take(IBV_QP_PORT, &ibv_qp_attr::port_num);
  take(IBV_QP_AV, &ibv_qp_attr::ah_attr);
  take(IBV_QP_PATH_MTU, &ibv_qp_attr::path_mtu);
  take(IBV_QP_TIMEOUT, &ibv_qp_attr::timeout);
  take(IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt);
  take(IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry);
  take(IBV_QP_RQ_PSN, &ibv_qp_attr::rq_psn);
  take(IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic);
  take(IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer);
  take(IBV_QP_SQ_PSN, &ibv_qp_attr::sq_psn);
  take(IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic);
  take(IBV_QP_DEST_QPN, &ibv_qp_attr::dest_qp_num);
}

void check_step(std::string_view object, ibv_qp_state from, ibv_qp_state to,
                const ibv_qp_attr& attributes, int mask) {
  const std::string name(object);
  const Step* step = find_step(from, to);
  if (step == nullptr) {
    throw Error(name, fmt::format("no step leads from {} to {}", state_name(from), state_name(to)),
                "go RESET, INIT, RTR, RTS; from ERR only to RESET", EINVAL);
  }
  const auto refuse = [&](const char* what, int attributes_in_question) {
    throw Error(name,
                fmt::format("the step from {} to {} {} {}", state_name(from), state_name(to), what,
                            names_of(attributes_in_question)),
                "give it what the table in ibv_modify_qp(3) lists", EINVAL);
  };
  if (const int missing = step->required & ~mask; missing != 0) refuse("lacks", missing);
  if (const int more = mask & ~step->required & ~step->optional; more != 0) {
    refuse("does not take", more);
  }
  check_ranges(object, attributes, mask);
  if ((mask & IBV_QP_CUR_STATE) != 0 && attributes.cur_qp_state != from) {
    throw Error(name,
                fmt::format("it is in {}, not in {}", state_name(from),
                            state_name(attributes.cur_qp_state)),
                "leave IBV_QP_CUR_STATE out", EINVAL);
  }
}

std::string names_of(int mask) {
  std::string text;
  for (const Name& name : kNames) {
    if ((mask & name.bit) == 0) continue;
    if (!text.empty()) text += ", ";
    text += name.text;
  }
  return text;
}

const char* state_name(ibv_qp_state state) noexcept {
  constexpr std::array kStates{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return state < kStates.size() ? kStates[state] : "UNKNOWN";
}

}  // namespace dtutils::software
