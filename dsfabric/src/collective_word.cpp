// SPDX-License-Identifier: MIT
// What collectives are called.
#include "collective_word.hpp"

#include <fmt/format.h>

namespace dsfabric {

std::string describe(const CollectiveCall& call) {
  switch (call.kind) {
    case Collective::kBarrier:
      return "Thread::barrier()";
    case Collective::kAllGather:
      return fmt::format("Thread::all_gather() of {} bytes", call.bytes);
    case Collective::kAllReduce:
      return fmt::format("Thread::all_reduce() of {} bytes", call.bytes);
    case Collective::kBroadcast:
      return fmt::format("Thread::broadcast() of {} bytes", call.bytes);
    case Collective::kTermination:
      return "wait_for_termination()";
    case Collective::kRunBegins:
      return "the beginning of run()";
    case Collective::kRunEnds:
      return "the end of run()";
  }
  return "no collective that is known here";
}

}  // namespace dsfabric
