// SPDX-License-Identifier: MIT
// What callables throw where nobody waits for their result.
#include <stdexcept>
#include <string>

#include "dsfabric/support/fabric_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::require;
using support::require_equal;
using support::serve_until;

namespace {

struct Seen {
  std::atomic<std::uint32_t> upcalls{0};
  std::atomic<std::uint32_t> wrong{0};
  std::atomic<std::uint32_t> calls{0};
};
Seen& seen() {
  static Seen one;
  return one;
}

void alone(std::uint32_t service_threads, const std::function<void(Thread&)>& work) {
  CHECK(support::run_job({1, 1, service_threads}, 0, work) == "");
}

void count_upcalls(Thread& self, bool by_worker) {
  self.fabric().on_exception([by_worker](const CallContext& call, std::exception_ptr thrown) {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const std::runtime_error& error) {
      seen().wrong += error.what() != std::string("no bread left");
    }
    seen().wrong += (call.worker != nullptr) != by_worker;
    ++seen().upcalls;
  });
}

}  // namespace

TEST_CASE("exception_nobody_waits_for_goes_to_the_upcall") {
  alone(1, [](Thread& self) {
    count_upcalls(self, true);
    SendChannel calls(self.fabric());
    for (int i = 0; i < 10; ++i) {
      require(calls.call(self.id(), [] { throw std::runtime_error("no bread left"); }), "sent");
      require(calls.call(self.id(), [] { ++seen().calls; }), "sent");
    }
    serve_until(self, [] { return seen().calls == 10; });
    require_equal(seen().upcalls.load(), 10u, "upcalls");
    require_equal(seen().wrong.load(), 0u, "wrong upcalls");
  });
}

TEST_CASE("exception_awaited_by_call_return_makes_no_upcall") {
  alone(1, [](Thread& self) {
    count_upcalls(self, true);
    SendChannel calls(self.fabric());
    ReturnSlot<void> slot(self.fabric());
    require(calls.call_return(
                self.id(), [] { throw std::runtime_error("no bread left"); }, slot),
            "sent");
    require(support::error_text([&] { slot.get(); }).find("no bread left") != std::string::npos,
            "the caller hears of it");
    require_equal(seen().upcalls.load(), 0u, "upcalls");
  });
}

TEST_CASE("exception_without_an_upcall_leaves_progress") {
  alone(1, [](Thread& self) {
    SendChannel calls(self.fabric());
    require(calls.call(self.id(), [] { throw std::runtime_error("no bread left"); }), "sent");
    std::string left;
    try {
      serve_until(self, [] { return false; });
    } catch (const std::runtime_error& error) {
      left = error.what();
    }
    require(left == "no bread left", "progress throws it");
    // And the worker serves on.
    require(calls.call(self.id(), [] { ++seen().calls; }), "sent");
    serve_until(self, [] { return seen().calls == 1; });
  });
}

TEST_CASE("service_thread_survives_an_exception_by_the_upcall") {
  alone(1, [](Thread& self) {
    count_upcalls(self, false);
    SendChannel calls(self.fabric());
    const ThreadId service = ThreadId::service_of(self.id().process);
    require(calls.call(service, [] { throw std::runtime_error("no bread left"); }), "sent");
    require(support::eventually([] { return seen().upcalls == 1; }), "the upcall comes");
    require(calls.call(service, [] { ++seen().calls; }), "sent");
    require(support::eventually([] { return seen().calls == 1; }), "and it serves on");
    require_equal(seen().wrong.load(), 0u, "wrong upcalls");
    self.barrier();
  });
}

TEST_CASE("handler_scope_keeps_progress_from_running_calls") {
  alone(1, [](Thread& self) {
    SendChannel calls(self.fabric());
    dtutils::Synchronizer sent(1);
    {
      const HandlerScope scope(self.fabric());
      require(self.in_handler(), "the mark is set");
      require(calls.call(
                  self.id(), [] { ++seen().calls; }, &sent),
              "sent");
      for (int i = 0; i < 1000; ++i) self.progress();
      require_equal(seen().calls.load(), 0u, "calls that ran inside");
    }
    require(!self.in_handler(), "the mark is gone");
    serve_until(self, [] { return seen().calls == 1; });
  });
}
