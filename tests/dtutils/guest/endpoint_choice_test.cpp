// SPDX-License-Identifier: MIT
// Two real devices: both are listed, each chooses its port, GID and MTU, wrong wishes are refused.
#include <cstdlib>
#include <utility>

#include "guest.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

DeviceOptions with_gid(int index) {
  DeviceOptions options;
  options.gid_index = index;
  return options;
}

DeviceOptions with_mtu(int bytes) {
  DeviceOptions options;
  options.mtu = bytes;
  return options;
}

void exchange(Side& from, Side& to) {
  fill(from.bytes().first(8192), 5);
  must(from.qp.post_write(from.local(0, 8192), to.remote(0, 8192), 1, kSignaled));
  success(from.sends, 1);
  CHECK(holds(to.bytes().first(8192), 5));
}

}  // namespace

TEST_CASE("both_devices_are_listed_as_usable_before_shm") {
  if (!guest::inside()) return;
  const std::vector<DeviceEntry> devices = list_devices();
  REQUIRE(devices.size() == 3);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(devices[i].name == "rxe" + std::to_string(i));
    CHECK(devices[i].kind == DeviceKind::kVerbs);
    CHECK(devices[i].usable);
    CHECK_THAT(devices[i].note, contains("port 1 active, RoCE v2 over IPv4"));
  }
  CHECK(devices[2].name == "shm");
}

TEST_CASE("each_device_chooses_its_own_gid_and_says_why") {
  if (!guest::inside()) return;
  for (const char number : {'0', '1'}) {
    const auto device = open_device(std::string("rxe") + number);
    const DeviceInfo& info = device->info();
    CHECK(info.kind == DeviceKind::kVerbs);
    CHECK(info.port == 1);
    CHECK(info.gid_index == 1);
    CHECK(info.mtu == IBV_MTU_1024);
    CHECK(info.link_layer == IBV_LINK_LAYER_ETHERNET);
    CHECK_THAT(info.reason, contains("port 1: the only one") &&
                                contains(std::string("GID 1 (::ffff:10.0.") + number +
                                         ".1): RoCE v2 over IPv4, the best of 2") &&
                                contains("MTU 1024: the active one"));
  }
}

TEST_CASE("auto_takes_the_first_device_or_the_one_that_the_environment_names") {
  if (!guest::inside()) return;
  ::unsetenv("CARIAMA_DEVICE");
  CHECK(open_device()->info().name == "rxe0");
  ::setenv("CARIAMA_DEVICE", "rxe1", 1);
  const auto named = open_device();
  ::unsetenv("CARIAMA_DEVICE");
  CHECK(named->info().name == "rxe1");
  CHECK_THAT(named->info().reason, contains("named by CARIAMA_DEVICE"));
}

TEST_CASE("gid_index_without_an_entry_is_refused_with_those_that_exist") {
  if (!guest::inside()) return;
  for (const int index : {2, 1000, -1}) {
    CHECK_THAT(
        error_text([&] { open_device("rxe0", with_gid(index)); }),
        contains("rxe0: entry " + std::to_string(index) + " of the GID table of port 1 is empty") &&
            contains("1 (::ffff:10.0.0.1, RoCE v2 over IPv4)"));
  }
}

TEST_CASE("port_and_mtu_that_the_device_does_not_have_are_refused") {
  if (!guest::inside()) return;
  DeviceOptions second_port;
  second_port.port = 2;
  CHECK_THAT(error_text([&] { open_device("rxe0", second_port); }),
             contains("rxe0: there is no port 2") && contains("port 1 active"));
  CHECK_THAT(error_text([] { open_device("rxe0", with_mtu(4096)); }),
             contains("MTU 4096 is larger than the active MTU 1024 of port 1"));
}

TEST_CASE("two_devices_reach_each_other_over_both_cables") {
  if (!guest::inside()) return;
  const auto one = open_device("rxe0");
  const auto other = open_device("rxe1");
  Side a(*one);
  Side b(*other);
  connect(a.qp, b.qp);
  exchange(a, b);
  exchange(b, a);
}

TEST_CASE("devices_with_different_mtus_use_the_smaller_one") {
  if (!guest::inside()) return;
  const auto one = open_device("rxe0", with_mtu(256));
  const auto other = open_device("rxe1");
  Side a(*one);
  Side b(*other);
  connect(a.qp, b.qp);
  for (const Side* side : {&a, &b}) {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr initial{};
    REQUIRE(::ibv_query_qp(side->qp.raw(), &attributes, IBV_QP_PATH_MTU, &initial) == 0);
    CHECK(attributes.path_mtu == IBV_MTU_256);
  }
  exchange(a, b);
  exchange(b, a);
}

TEST_CASE("gids_of_two_kinds_are_refused_when_they_meet") {
  if (!guest::inside()) return;
  const auto link_local = open_device("rxe0", with_gid(0));
  CHECK_THAT(link_local->info().reason, contains("RoCE v2, link-local): as asked"));
  const auto ipv4 = open_device("rxe1");
  Side a(*link_local);
  Side b(*ipv4);
  for (const auto& [own, peer] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    CHECK_THAT(error_text([own = own, peer = peer] { own->qp.connect(peer->qp.endpoint()); }),
               contains("cannot go from state INIT to RTR") &&
                   contains("whether both sides use GIDs of the same type"));
  }
}

TEST_CASE("gid_that_no_machine_has_is_refused_in_time") {
  if (!guest::inside()) return;
  const auto device = open_device("rxe0");
  Side a(*device);
  Endpoint nowhere = a.qp.endpoint();
  nowhere.gid[15] = 77;
  const auto begin = std::chrono::steady_clock::now();
  CHECK_THAT(
      error_text([&] { a.qp.connect(nowhere); }),
      contains("there is no route from this device's GID to the peer's") && contains("gid_index"));
  CHECK(std::chrono::steady_clock::now() - begin < kPatience);
}
