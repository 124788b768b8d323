// SPDX-License-Identifier: MIT
// One of two different programs in a job: runs what clients call, and calls all of them back.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>

#include "riutils/two_programs/functions.hpp"

using namespace two_programs;

namespace {

std::map<std::string, std::string> values;

/// So that no index is the same by chance.
struct Unused {
  static constexpr std::string_view kCallName = "a_function_of_its_own";
  void operator()() const {}
};

}  // namespace

bool Put::operator()(dsfabric::CallContext& call, const std::string& key,
                     const std::string& value) const {
  riutils::RDMAMessengerGlobal clients(*call.worker);
  for (std::uint32_t rank = 1; rank < call.fabric.total_threads(); ++rank) {
    const auto status = clients.call(call.fabric.thread_of_rank(rank), Changed{}, key);
    if (status != dsfabric::CallStatus::kAccepted) std::puts("not so: clients are told");
  }
  return values.insert_or_assign(key, value).second;
}

std::optional<std::string> Get::operator()(const std::string& key) const {
  const auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

void Changed::operator()(const std::string&) const { std::puts("a wrong function ran"); }

int main(int argc, char** argv) try {
  dsfabric::register_function<Unused>();
  dsfabric::register_function<Put, std::string, std::string>();
  dsfabric::register_function<Get, std::string>();
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  fabric.run([](dsfabric::Thread&) {});  // it serves until all calls have run
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "ring_store: %s\n", error.what());
  return EXIT_FAILURE;
}
