// SPDX-License-Identifier: MIT
// What a handler outside a fiber may not do is an Error for its caller instead of a hang.
#include "dsfabric/support/call_job.hpp"
#include "support/error_text.hpp"
#include "support/per_process.hpp"

using namespace dsfabric;
using support::error_text;
using support::has;
using support::in_every_mode;
using support::require;

namespace {

/// What comes of a call to the neighbour whose function does `forbidden(CallContext&)`.
template <class F>
std::string ask(Thread& self, const F& forbidden) {
  SendChannel calls(self.fabric());
  ReturnSlot<void> slot(self.fabric());
  require(calls.call_return(self.neighbour(1), forbidden, slot), "sent");
  return error_text([&] { slot.get(); });
}

}  // namespace

TEST_CASE("handler_that_waits_for_a_result_is_told_how_to") {
  in_every_mode(2, 1, [](Thread& self) {
    const std::string text = ask(self, [](CallContext& call) {
      SendChannel calls(call.fabric);
      // The answer may come when it is gone.
      ReturnSlot<int> slot(call.fabric);
      (void)calls.call_return(
          call.source, [] { return 5; }, slot);
      (void)slot.get();
    });
    has(text, "ReturnSlot::get()");
    has(text, "handler");
    self.barrier();
  });
}

TEST_CASE("handler_that_comes_to_a_collective_is_refused") {
  in_every_mode(2, 1, [](Thread& self) {
    has(ask(self, [](CallContext& call) { call.worker->barrier(); }), "Thread::barrier()");
    has(ask(self, [](CallContext& call) { (void)call.worker->all_gather(1); }), "all_gather()");
    has(ask(self, [](CallContext& call) { wait_for_termination(*call.worker); }),
        "wait_for_termination()");
    self.barrier();
  });
}

TEST_CASE("handler_that_asks_another_process_for_a_name_is_refused") {
  in_every_mode(2, 1, [](Thread& self) {
    has(ask(self, [](CallContext& call) { (void)call.fabric.lookup("nothing"); }), "handler");
    self.barrier();
  });
}

TEST_CASE("handler_takes_a_result_that_is_there") {
  in_every_mode(1, 1, [](Thread& self) {
    static support::PerProcess<ReturnSlot<int>*> known;
    SendChannel calls(self.fabric());
    ReturnSlot<int> slot(self.fabric());
    require(calls.call_return(
                self.id(), [] { return 7; }, slot),
            "sent");
    support::serve_until(self, [&] { return slot.done(); });
    *known = &slot;
    ReturnSlot<int> copied(self.fabric());
    require(calls.call_return(
                self.id(), [] { return (*known)->get(); }, copied),
            "sent");
    support::require_equal(copied.get(), 7, "result");
  });
}
