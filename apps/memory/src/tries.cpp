// SPDX-License-Identifier: MIT
// Operations that found no whole value, or no free lock: whether there is anything to wait for.
#include "client_calls.hpp"
#include "dtutils/error.hpp"

namespace memory::detail {

Status ClientState::again(Tries& tries, const Place& place, std::uint64_t found) {
  ++counters.repeated;
  if (tries.ask_after(found)) {
    if (may_call()) {
      const Status status = ask(place.home(), ExamineRequest{0, place}).status;
      if (status != Status::kDone) return status;
    } else if (tries.too_long()) {
      throw dtutils::Error("memory::Client",
                           "an operation in a handler outside a fiber found a segment in use for "
                           "seconds, without anything new in it",
                           "use a fiber or start_..., and compare the pointer with what allocate() "
                           "gave");
    }
  }
  pause(tries.backoff);
  return Status::kAgain;
}

void ClientState::examine(Operation& operation) {
  Operation& asking = take(0);
  asking.place = operation.place;
  asking.into = nullptr;
  const auto tell = [its = &operation](Status status) { its->status = status; };
  asking.completion = Completion(tell);
  asking.call = [](ClientState& state, Operation& its) {
    state.try_call(its,
                   ExamineRequest{state.space.homes[its.place.home().value].address, its.place});
  };
  asking.call(*this, asking);
  start(asking);
  operation.step = Operation::Step::kExamined;
  operation.status = Status::kAgain;
}

}  // namespace memory::detail
