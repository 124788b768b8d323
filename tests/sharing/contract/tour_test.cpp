// SPDX-License-Identifier: MIT
// The example of the README.
#include "sharing/support/sharing_job.hpp"

using namespace support;

namespace {

struct Load {
  std::uint64_t requests;
};

void tour(dsfabric::Thread& self, sharing::Space& space) {
  sharing::Client client(self, space);
  if (self.id().process.value == 0) {
    (void)client.allocate("load", sizeof(Load), sharing::delta(2), memory::there({1}));
  }
  self.barrier();
  const sharing::Datum load = client.find("load").value();
  Load mine{};
  {
    sharing::Hold hold(client, load, sharing::Hold::kPut);  // get and put as one
    require_done(hold.get(std::as_writable_bytes(std::span(&mine, 1))), "get");
    ++mine.requests;
    require_done(hold.put(std::as_bytes(std::span(&mine, 1))), "put");
  }
  std::uint64_t version = 0;
  require_done(client.get(load, std::as_writable_bytes(std::span(&mine, 1)), &version), "get");
  require_equal(mine.requests, version, "one request each");
  sharing::Reader reader(client, load);
  require_done(reader.get(mine), "get");  // as client.get
  require(mine.requests <= 2, "the requests of both");
  self.barrier();
}

}  // namespace

TEST_CASE("the_example_of_the_readme_runs") {
  ForkJob job(2, [](Member& member) {
    dsfabric::Config config;
    config.threads = 1;
    dsfabric::Fabric fabric = member.join(config);
    sharing::Space space(fabric, small_space());
    fabric.run([&](dsfabric::Thread& self) { tour(self, space); });
  });
  CHECK(job.wait() == "");
}
