// SPDX-License-Identifier: MIT
// The model as text.
#include "simulation/model.hpp"

#include <string>

#include "support/catch.hpp"
#include "support/matchers.hpp"

using namespace std::chrono_literals;
using dtutils::NetworkModel;
using simulation::read_model;
using simulation::write_model;

TEST_CASE("model_is_read_from_text_and_written_again") {
  const NetworkModel model = read_model("post=7,mtu=1024,gap=10260");
  CHECK(model.post == 7ns);
  CHECK(model.mtu == 1024);
  CHECK(model.gap == 10'260ns);
  CHECK(model.hop == NetworkModel().hop);
  CHECK(write_model(model) == "post=7,mtu=1024,gap=10260");
  // What a text leaves alone stays as it was.
  CHECK(write_model(read_model("hop=5,post=50", model)) == "hop=5,mtu=1024,gap=10260");
  CHECK(write_model(read_model("")).empty());
  // Each member, and no other one.
  const std::string all =
      "post=1,poll=2,clock=3,doorbell=4,fetch=5,issue=6,adapter=7,land=8,atomic=9,"
      "cached_connections=10,connection_miss=11,hop=12,ports=13,bytes_per_us=14,mtu=15,header=16,"
      "gap=17";
  CHECK(write_model(read_model(all)) == all);
}

TEST_CASE("model_of_a_wrong_text_is_refused_by_name") {
  CHECK_THROWS_WITH(read_model("port=3"), support::contains("\"port\""));
  CHECK_THROWS_WITH(read_model("hop=1,,mtu=4"), support::contains("no such member"));
  for (const char* const text : {"mtu", "mtu=", "mtu=0", "mtu=1k", "hop=-1", "hop=1.5",
                                 "hop=1000000001", "hop=99999999999999"}) {
    CHECK_THROWS_WITH(read_model(text), support::contains(std::string("\"") + text + '"'));
  }
}
