// SPDX-License-Identifier: MIT
// One of two different programs in a job: calls named functions of the other one.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "dsfabric/two_programs/questions.hpp"

using namespace dsfabric;
using namespace two_programs;

namespace {

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(std::string("not so: ") + what);
}
void require(CallStatus status, const char* what) {
  require(status == CallStatus::kAccepted, what);
}

/// Only this program has it.
struct Unknown {
  static constexpr std::string_view kCallName = "unknown";
  int operator()() const { return 1; }
};

/// The other program's gives a double.
struct Half {
  static constexpr std::string_view kCallName = "half";
  int operator()(int number) const { return number / 2; }
};

/// What the refusal of a call says.
template <class Call>
std::string refusal(Call&& call) {
  try {
    (void)call();
  } catch (const dtutils::Error& error) {
    return error.what();
  }
  return "(accepted)";
}
void require_has(const std::string& text, const char* part) {
  if (text.find(part) == std::string::npos) throw std::runtime_error(text + " should hold " + part);
}

void ask(Thread& self) {
  SendChannel calls(self.fabric());
  const ThreadId other = self.neighbour(1);
  ReturnSlot<std::uint64_t> slot(self.fabric());
  for (std::uint64_t i = 1; i <= 100; ++i) {
    require(calls.call_return(other, Square{i}, slot), "a question is sent");
    require(slot.get() == i * i, "squares come back");
  }

  const std::vector<std::byte> ones(100, std::byte{1});
  require(calls.call_buffer(other, AddUp{}, ones), "a buffer in the call is sent");
  auto memory = self.fabric().general_allocator().allocate(ones.size());
  std::fill_n(memory.data(), ones.size(), std::byte{2});
  ReturnSlot<void> executed(self.fabric());
  for (const ReadOn where : {ReadOn::kDestination, ReadOn::kServiceThread}) {
    require(calls.call_buffer(other, AddUp{}, memory, executed, where), "a buffer to read is sent");
    executed.get();
  }
  require(calls.call_return(other, SumSoFar{}, slot), "a question is sent");
  require(slot.get() == 500, "all buffers came");

  require(calls.call_return(other, Repeat{}, "ha", 3).get() == "hahaha", "arguments go there");
  require(calls.call_return(other, Multiply{}, 1.5, 4.0).get() == 6.0, "plain arguments too");

  require_has(refusal([&] { return calls.call_return(other, Unknown{}); }), "unknown");
  require_has(refusal([&] { return calls.call(other, [] {}); }), "kCallName");
  // The same function for other arguments, or with another result.
  require_has(refusal([&] { return calls.call_return(other, Repeat{}, "ha", 3L); }), "long");
  require_has(refusal([&] { return calls.call_return(other, Half{}, 7); }), "half");
  self.barrier();
  std::printf("all answers were right\n");
}

}  // namespace

int main(int argc, char** argv) try {
  Fabric fabric = join(argc, argv);
  fabric.run(ask);
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "asker: %s\n", error.what());
  return EXIT_FAILURE;
}
