// SPDX-License-Identifier: MIT
// Choice of port, GID and MTU of a verbs device, over made-up ports.
#include "verbs/endpoint_choice.hpp"

#include <arpa/inet.h>

#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

namespace {

using dtutils::DeviceOptions;
using dtutils::verbs::choose_endpoint;
using dtutils::verbs::EndpointChoice;
using dtutils::verbs::GidFacts;
using dtutils::verbs::PortFacts;
using support::contains;
using support::error_text;

GidFacts gid(int index, const char* address, ibv_gid_type type) {
  GidFacts entry{index, {}, type};
  REQUIRE(::inet_pton(AF_INET6, address, entry.gid.raw) == 1);
  return entry;
}

PortFacts ethernet(std::uint8_t number, std::vector<GidFacts> gids) {
  return {number, IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET, 0, IBV_MTU_1024, std::move(gids)};
}

/// What `rdma link add rxe0 type rxe` gives.
PortFacts soft_roce() {
  return ethernet(1, {gid(0, "fe80::8:9", IBV_GID_TYPE_ROCE_V2),
                      gid(1, "::ffff:10.0.0.1", IBV_GID_TYPE_ROCE_V2)});
}

/// What a ConnectX on RoCE shows: every address as v1 and as v2.
PortFacts connectx() {
  return ethernet(
      1, {gid(0, "fe80::8:9", IBV_GID_TYPE_ROCE_V1), gid(1, "fe80::8:9", IBV_GID_TYPE_ROCE_V2),
          gid(2, "::ffff:10.0.0.1", IBV_GID_TYPE_ROCE_V1),
          gid(3, "::ffff:10.0.0.1", IBV_GID_TYPE_ROCE_V2),
          gid(5, "2001:db8::1", IBV_GID_TYPE_ROCE_V2)});
}

PortFacts infiniband(std::uint8_t number) {
  return {number,
          IBV_PORT_ACTIVE,
          IBV_LINK_LAYER_INFINIBAND,
          17,
          IBV_MTU_4096,
          {gid(0, "fe80::2:3", IBV_GID_TYPE_IB), gid(1, "fe80::2:4", IBV_GID_TYPE_IB)}};
}

PortFacts without(PortFacts port, int index) {
  std::erase_if(port.gids, [&](const GidFacts& entry) { return entry.index == index; });
  return port;
}

EndpointChoice choose(std::vector<PortFacts> ports, const DeviceOptions& options = {}) {
  return choose_endpoint("mlx5_0", ports, options);
}

std::string refusal_of_endpoint(std::vector<PortFacts> ports, const DeviceOptions& options = {}) {
  return error_text([&] { choose_endpoint("mlx5_0", ports, options); });
}

}  // namespace

TEST_CASE("endpoint_choice_prefers_roce_v2_over_ipv4") {
  CHECK(choose({soft_roce()}).gid_index == 1);
  CHECK(choose({connectx()}).gid_index == 3);
  CHECK_THAT(choose({connectx()}).reason,
             contains("GID 3 (::ffff:10.0.0.1): RoCE v2 over IPv4, the best of 5"));
}

TEST_CASE("endpoint_choice_goes_down_the_list_when_better_gids_are_missing") {
  const PortFacts no_ipv4 = without(connectx(), 3);
  CHECK(choose({no_ipv4}).gid_index == 5);
  const PortFacts link_local_only = without(no_ipv4, 5);
  CHECK(choose({link_local_only}).gid_index == 1);
  const PortFacts v1_only = without(link_local_only, 1);
  CHECK(choose({v1_only}).gid_index == 0);
  CHECK_THAT(choose({v1_only}).reason, contains("RoCE v1"));
}

TEST_CASE("endpoint_choice_takes_index_0_and_the_lid_on_infiniband") {
  const EndpointChoice choice = choose({infiniband(1)});
  CHECK(choice.gid_index == 0);
  CHECK(choice.lid == 17);
  CHECK(choice.mtu == IBV_MTU_4096);
  CHECK(choice.link_layer == IBV_LINK_LAYER_INFINIBAND);
  CHECK_THAT(choice.reason, contains("LID 17") && contains("InfiniBand"));
}

TEST_CASE("endpoint_choice_takes_the_first_active_port") {
  PortFacts down = infiniband(1);
  down.state = IBV_PORT_DOWN;
  const EndpointChoice choice = choose({down, infiniband(2)});
  CHECK(choice.port == 2);
  CHECK_THAT(choice.reason, contains("port 2: the first active one"));
}

TEST_CASE("endpoint_choice_follows_what_the_user_fixed") {
  DeviceOptions options;
  options.port = 2;
  options.gid_index = 1;
  options.mtu = 512;
  const EndpointChoice choice = choose({infiniband(1), infiniband(2)}, options);
  CHECK(choice.port == 2);
  CHECK(choice.gid_index == 1);
  CHECK(choice.gid.raw[15] == 4);
  CHECK(choice.mtu == IBV_MTU_512);
  CHECK_THAT(choice.reason, contains("port 2: as asked") && contains("MTU 512: as asked"));
}

TEST_CASE("endpoint_choice_refuses_a_port_that_does_not_exist") {
  DeviceOptions options;
  options.port = 3;
  CHECK_THAT(
      refusal_of_endpoint({soft_roce()}, options),
      contains("mlx5_0: there is no port 3") && contains("port 1 active, RoCE v2 over IPv4"));
  options.port = 0;
  CHECK_THAT(refusal_of_endpoint({soft_roce()}, options), contains("there is no port 0"));
}

TEST_CASE("endpoint_choice_refuses_a_port_that_is_down") {
  PortFacts down = soft_roce();
  down.state = IBV_PORT_DOWN;
  DeviceOptions options;
  options.port = 1;
  CHECK_THAT(refusal_of_endpoint({down}, options),
             contains("port 1 is down") && contains("ip link set"));
  CHECK_THAT(refusal_of_endpoint({down}),
             contains("no port is active: port 1 down") && contains("ip link set"));
}

TEST_CASE("endpoint_choice_names_the_subnet_manager_when_infiniband_waits_for_it") {
  PortFacts waiting = infiniband(1);
  waiting.state = IBV_PORT_INIT;
  CHECK_THAT(refusal_of_endpoint({waiting}),
             contains("initialising") && contains("subnet manager"));
}

TEST_CASE("endpoint_choice_refuses_an_empty_gid_entry_and_lists_the_others") {
  DeviceOptions options;
  options.gid_index = 4;
  CHECK_THAT(refusal_of_endpoint({soft_roce()}, options),
             contains("entry 4 of the GID table of port 1 is empty") &&
                 contains("1 (::ffff:10.0.0.1, RoCE v2 over IPv4)"));
}

TEST_CASE("endpoint_choice_refuses_a_port_without_gids") {
  CHECK_THAT(refusal_of_endpoint({ethernet(1, {})}),
             contains("GID table of port 1 is empty") && contains("ip addr add"));
}

TEST_CASE("endpoint_choice_refuses_an_mtu_that_is_none_or_too_large") {
  DeviceOptions options;
  options.mtu = 1500;
  CHECK_THAT(refusal_of_endpoint({soft_roce()}, options), contains("1500 bytes is not a path MTU"));
  options.mtu = 2048;
  CHECK_THAT(refusal_of_endpoint({soft_roce()}, options),
             contains("MTU 2048 is larger than the active MTU 1024 of port 1"));
  options.mtu = 1024;
  CHECK(choose({soft_roce()}, options).mtu == IBV_MTU_1024);
}

TEST_CASE("endpoint_choice_refuses_a_device_without_ports") {
  CHECK_THAT(refusal_of_endpoint({}), contains("no port is active") && contains("has no port"));
}
