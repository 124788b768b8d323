// SPDX-License-Identifier: MIT
// Every completion status is explained: what happened, what to look at, where.
#include <set>
#include <string>

#include "dtutils/completion_queue.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

using dtutils::describe;
using support::contains;

namespace {

ibv_wc completion(ibv_wc_status status, ibv_wc_opcode opcode = IBV_WC_RDMA_WRITE) {
  ibv_wc made{};
  made.status = status;
  made.opcode = opcode;
  made.qp_num = 0x2a;
  made.wr_id = 1234;
  made.vendor_err = 0x81;
  made.byte_len = 64;
  return made;
}

}  // namespace

TEST_CASE("every_status_has_words_of_its_own") {
  std::set<std::string> seen;
  for (int status = IBV_WC_SUCCESS; status <= IBV_WC_TM_RNDV_INCOMPLETE; ++status) {
    const std::string words = describe(static_cast<ibv_wc_status>(status));
    CHECK(words.find("unknown") == std::string::npos);
    CHECK(seen.insert(words).second);
  }
}

TEST_CASE("failure_says_cause_remedy_and_place") {
  const std::string sentence = describe(completion(IBV_WC_RETRY_EXC_ERR));
  CHECK_THAT(sentence, contains("the peer or the path to it is gone"));
  CHECK_THAT(sentence, contains("check whether the peer process still runs"));
  CHECK_THAT(sentence, contains("queue pair 0x2a"));
  CHECK_THAT(sentence, contains("work request 1234"));
  CHECK_THAT(sentence, contains("RDMA write"));
  CHECK_THAT(sentence, contains("vendor code 0x81"));
  CHECK_THAT(describe(completion(IBV_WC_REM_ACCESS_ERR)),
             contains("rkey") && contains("bounds") && contains("access flags"));
  CHECK_THAT(describe(completion(IBV_WC_WR_FLUSH_ERR)), contains("first failed completion"));
  CHECK_THAT(describe(completion(IBV_WC_RNR_RETRY_EXC_ERR)), contains("post receives"));
}

TEST_CASE("success_is_short") {
  CHECK(describe(completion(IBV_WC_SUCCESS, IBV_WC_RECV)) ==
        "success (queue pair 0x2a, work request 1234, reported as receive, 64 bytes)");
}

TEST_CASE("unknown_status_and_opcode_are_described_too") {
  CHECK_THAT(describe(completion(static_cast<ibv_wc_status>(31), static_cast<ibv_wc_opcode>(77))),
             contains("unknown completion status") && contains("status 31") &&
                 contains("another operation"));
}
