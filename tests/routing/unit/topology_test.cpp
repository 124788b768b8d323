// SPDX-License-Identifier: MIT
// Topologies from files: edge lists and GraphML, good ones and bad ones.
#include "routing/topology.hpp"

#include <sstream>

#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

using namespace routing;

namespace {

Topology edges(const std::string& text) {
  std::istringstream in(text);
  return read_edges(in, "test");
}
Topology graphml(const std::string& text) {
  std::istringstream in(text);
  return read_graphml(in, "test");
}
template <class Read>
std::string refusal(Read read, const std::string& text) {
  try {
    read(text);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an_edge_list_links_both_ways") {
  const Topology topology = edges("# head\na b 3\n\nb c   # cost 1\n");
  REQUIRE(topology.names == std::vector<std::string>{"a", "b", "c"});
  REQUIRE(topology.links.size() == 4);
  CHECK(topology.links[1].from == RouterId{1});
  CHECK(topology.links[1].to == RouterId{0});
  CHECK(topology.links[1].cost == 3);
  CHECK(topology.links[2].cost == 1);
}

TEST_CASE("bad_edge_lists_are_refused_with_their_line") {
  for (const char* text : {"a", "a b x", "a b 0", "a b -3", "a b 1 2", "a a 1", "a b 1000001"}) {
    CAPTURE(text);
    CHECK_THAT(refusal(edges, std::string("x y 1\n") + text), support::contains("test:2"));
  }
}

TEST_CASE("graphml_gives_labels_costs_and_directions") {
  const std::string head =
      "<?xml version='1.0'?><!-- a <comment> --><graphml>"
      "<key attr.name=\"label\" for=\"node\" id=\"k1\"/>"
      "<key attr.name=\"weight\" for=\"edge\" id='k2'></key>";
  const std::string nodes =
      "<node id='n0'><data key='k1'>A &amp; B</data></node><node id=\"n1\"/>"
      "<node id='n2'><data key='other'>x</data></node>";
  const std::string links =
      "<edge source='n0' target='n1'><data key='k2'>7.4</data></edge>"
      "<edge source='n1' target='n2'/><edge source='n2' target='n2'/></graph></graphml>";
  const Topology both = graphml(head + "<graph edgedefault='undirected'>" + nodes + links);
  CHECK(both.names == std::vector<std::string>{"A & B", "n1", "n2"});
  REQUIRE(both.links.size() == 4);
  CHECK(both.links[0].cost == 7);
  CHECK(both.links[3].cost == 1);
  const Topology one = graphml(head + "<graph edgedefault='directed'>" + nodes + links);
  REQUIRE(one.links.size() == 2);
  CHECK(one.links[0].to == RouterId{1});
}

TEST_CASE("bad_graphml_is_refused") {
  const auto complaint = [](const char* text) { return refusal(graphml, text); };
  CHECK_THAT(complaint("<graphml></graphml>"), support::contains("no graph"));
  CHECK_THAT(complaint("<graph><node/></graph>"), support::contains("no id"));
  CHECK_THAT(complaint("<graph><edge source='a' target='b'/></graph>"),
             support::contains("node \"a\" is not there"));
  CHECK_THAT(complaint("<graph><node id=3/></graph>"), support::contains("without value"));
  CHECK_THAT(complaint("<graph><node id='3/></graph>"), support::contains("open quote"));
  CHECK_THAT(complaint("<graph"), support::contains("is missing"));
  CHECK_THAT(complaint("<!DOCTYPE x>"), support::contains("document types"));
}

TEST_CASE("the_hub_is_linked_to_all_and_the_others_in_a_ring") {
  for (const std::size_t routers : {2, 3, 4, 16}) {
    const Topology topology = hub_and_ring(routers);
    const std::size_t outer = routers - 1;
    const std::size_t ring = outer < 2 ? 0 : outer == 2 ? 1 : outer;
    CHECK(topology.links.size() == 2 * (outer + ring));
  }
}
