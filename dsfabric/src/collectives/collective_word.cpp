// SPDX-License-Identifier: MIT
// What collectives are called, and what two are told who are in different ones.
#include "collectives/collective_word.hpp"

#include <fmt/format.h>

#include "dtutils/error.hpp"

namespace dsfabric {
namespace {

/// " from thread 1.0"; nothing when no worker of the job has that rank.
std::string from(std::uint32_t root, const Participants& participants) {
  return root < participants.total() ? fmt::format(" from thread {}", participants.worker(root))
                                     : std::string();
}

}  // namespace

std::string describe(const CollectiveCall& call, const Participants& participants) {
  const char* const whose = participants.whole_job() ? "Thread" : "Group";
  switch (call.kind) {
    case Collective::kBarrier:
      return fmt::format("{}::barrier()", whose);
    case Collective::kAllGather:
      return fmt::format("{}::all_gather() of {} bytes", whose, call.bytes);
    case Collective::kAllReduce:
      return fmt::format("{}::all_reduce() of {} bytes", whose, call.bytes);
    case Collective::kBroadcast:
      return fmt::format("{}::broadcast() of {} bytes{}", whose, call.bytes,
                         from(call.root, participants));
    case Collective::kTermination:
      return "wait_for_termination()";
    case Collective::kRunBegins:
      return "the beginning of run()";
    case Collective::kRunEnds:
      return "the end of run()";
    case Collective::kGroupBegins:
      return "the making of a Group";
  }
  return "no collective that is known here";
}

void throw_mismatch(const Participants& participants, const std::string& one,
                    const CollectiveCall& its, const std::string& other,
                    const CollectiveCall& others) {
  throw dtutils::Error("collective operation",
                       fmt::format("{} is in {}, and {} in {}", one, describe(its, participants),
                                   other, describe(others, participants)),
                       "call the same collectives in the same order, with values of one type and "
                       "one root, on every worker");
}

}  // namespace dsfabric
