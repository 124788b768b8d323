// SPDX-License-Identifier: MIT
// Callables that choose where their calls run: the whole call goes there, answers included.
#include <cstring>
#include <functional>
#include <vector>

#include "dsfabric/calls.hpp"
#include "dsfabric/support/fork_job.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/per_process.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

namespace {

std::vector<std::function<void()>>& put_off() {
  static support::PerProcess<std::vector<std::function<void()>>> calls;
  return *calls;
}

/// Keeps calls until the test asks for them.
struct PutOff {
  static constexpr bool kNeedsPlace = false;
  static void place(Invoke run, std::byte* payload, std::uint32_t bytes, CallContext& call) {
    put_off().push_back(
        [run, copy = std::vector<std::byte>(payload, payload + bytes), own = call]() mutable {
          run(copy.data(), static_cast<std::uint32_t>(copy.size()), own);
        });
  }
};

template <class F>
struct Later : detail::WrapperName<F, 'l'> {
  using Placement = PutOff;
  explicit Later(const F& f) noexcept : function(f) {}
  F function;
  decltype(auto) operator()(CallContext& call) { return detail::run_callable(function, call); }
};

template <class F>
struct LaterBuffer {
  using Placement = PutOff;
  F function;
  void operator()(CallContext& call, std::byte* data, std::uint32_t bytes) {
    function(call, data, bytes);
  }
};

std::atomic<std::uint64_t>& executed() {
  static support::PerProcess<std::atomic<std::uint64_t>> count;
  return *count;
}

/// Serves until `count` calls are put off, and then runs them.
void run_put_off(Thread& self, std::size_t count) {
  dtutils::Deadline deadline(std::chrono::seconds(20));
  while (put_off().size() < count) {
    require(!deadline.passed(), "the calls did not come");
    self.progress();
  }
  require_equal(executed().load(), 0u, "calls that ran at once");
  for (const auto& call : put_off()) call();
  put_off().clear();
}

/// Process 0 calls, process 1 puts off and runs.
void between_two(const std::function<void(Thread&)>& caller, std::size_t calls) {
  ForkJob job(2, [&](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    fabric.run([&](Thread& self) {
      member.rank == 0 ? caller(self) : run_put_off(self, calls);
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}

}  // namespace

TEST_CASE("result_of_a_placed_call_comes_when_it_has_run_at_its_place") {
  between_two(
      [](Thread& self) {
        SendChannel calls(self.fabric());
        ReturnSlot<std::uint32_t> slot(self.fabric());
        const auto seven = [](CallContext& call) -> std::uint32_t {
          ++executed();
          return call.source.process.value + 7u;
        };
        require(calls.call_return(self.neighbour(1), Later(seven), slot), "sent");
        require_equal(slot.get(), 7u, "result");
      },
      1);
}

TEST_CASE("exception_of_a_placed_call_reaches_its_caller") {
  between_two(
      [](Thread& self) {
        SendChannel calls(self.fabric());
        ReturnSlot<int> slot(self.fabric());
        const auto fail = []() -> int { throw std::runtime_error("no bread left"); };
        require(calls.call_return(self.neighbour(1), Later(fail), slot), "sent");
        const std::string text = support::error_text([&] { slot.get(); });
        require(text.find("no bread left") != std::string::npos, text);
      },
      1);
}

TEST_CASE("buffer_of_a_placed_call_goes_to_its_place") {
  between_two(
      [](Thread& self) {
        SendChannel calls(self.fabric());
        ReturnSlot<void> read_there(self.fabric());
        ReturnSlot<void> read_aside(self.fabric());
        const auto check = [](CallContext&, const std::byte* data, std::uint32_t bytes) {
          for (std::uint32_t i = 0; i < bytes; ++i) require(data[i] == std::byte{42}, "the byte");
          executed() += bytes;
        };
        const LaterBuffer<std::remove_const_t<decltype(check)>> later{check};
        const ThreadId to = self.neighbour(1);
        const std::vector<std::byte> sent(500, std::byte{42});
        require(calls.call_buffer(to, later, sent), "sent");
        auto memory = self.fabric().general_allocator().allocate(100);
        std::memset(memory.data(), 42, memory.size());
        require(calls.call_buffer(to, later, memory, read_there), "sent");
        require(calls.call_buffer(to, later, memory, read_aside, ReadOn::kServiceThread), "sent");
        read_there.get();
        read_aside.get();
      },
      3);
}
