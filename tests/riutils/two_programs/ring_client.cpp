// SPDX-License-Identifier: MIT
// The other one of two different programs in a job: asks the store over rings.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "riutils/two_programs/functions.hpp"

using namespace two_programs;

namespace {

constexpr int kKeys = 500;
int changes = 0;

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(std::string("not so: ") + what);
}

template <class Channel>
void ask(dsfabric::Thread& self, const std::string& prefix) {
  const dsfabric::ThreadId store{dsfabric::ProcessId{0}, 0};
  Channel calls(self);
  std::vector<dsfabric::RemoteFuture<bool>> kept;
  const auto key = [&](int i) { return prefix + std::to_string(i); };
  for (int i = 0; i < kKeys; ++i) {
    kept.push_back(calls.call_return(store, Put{}, key(i), key(i) + "!"));
  }
  for (auto& each : kept) require(each.get(), "the key is new");
  for (int i = 0; i < kKeys; ++i) {
    require(calls.call_return(store, Get{}, key(i)).get() == key(i) + "!", "values come back");
  }
  require(!calls.call_return(store, Get{}, "none").get(), "no other key is there");
  std::string refusal;
  try {
    (void)calls.call(store, [] { std::puts("a wrong function ran"); });
  } catch (const dtutils::Error& error) {
    refusal = error.what();
  }
  require(refusal.find("kCallName") != std::string::npos, "what has no name is refused in words");
}

}  // namespace

bool Put::operator()(dsfabric::CallContext&, const std::string&, const std::string&) const {
  std::puts("a wrong function ran");
  return false;
}

std::optional<std::string> Get::operator()(const std::string&) const {
  std::puts("a wrong function ran");
  return std::nullopt;
}

void Changed::operator()(const std::string&) const { ++changes; }

int main(int argc, char** argv) try {
  dsfabric::register_function<Changed, std::string>();
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  const std::string own = "client" + std::to_string(fabric.process().value) + "/";
  fabric.run([&](dsfabric::Thread& self) {
    ask<riutils::RDMAMessengerGlobal>(self, own + "single/");
    ask<riutils::RDMAAggregator>(self, own + "batched/");
  });
  require(changes == 2 * 2 * kKeys, "the store has told of all changes");
  std::puts("all answers were right");
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "ring_client: %s\n", error.what());
  return EXIT_FAILURE;
}
