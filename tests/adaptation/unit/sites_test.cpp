// SPDX-License-Identifier: MIT
// Lists of sites, options and words, in a job of one process.
#include <cmath>
#include <vector>

#include "adaptation/adaptation.hpp"
#include "dsfabric/support/alone.hpp"
#include "place_word.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using namespace adaptation;
using adaptation::detail::PlaceWord;
using support::error_text;

namespace {

bool refused(const std::vector<Site>& sites, const std::string& words) {
  return error_text([&] { detail::check(sites); }).find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("lists_of_sites_that_mean_nothing_are_refused") {
  CHECK(refused({}, "it has 0 sites"));
  CHECK(refused(std::vector<Site>(65), "it has 65 sites"));
  CHECK(refused({{.name = "a"}, {.name = "a"}}, "'a' is in it twice"));
  CHECK(refused({{.name = "a", .minimum = 0}}, "may lose all nodes"));
  CHECK(refused({{.name = "a", .share = 0}}, "the share of site 'a' is 0"));
  CHECK(refused({{.name = "a", .share = std::nan("")}}, "the share of site 'a' is nan"));
  CHECK(detail::check({{.name = "a"}, {.name = "b"}}) ==
        detail::check({{.name = "a"}, {.name = "b"}}));
  CHECK(detail::check({{.name = "a"}, {.name = "b"}}) !=
        detail::check({{.name = "b"}, {.name = "a"}}));
}

TEST_CASE("options_that_mean_nothing_are_refused") {
  dsfabric::Fabric fabric = support::alone();
  const std::vector<Site> sites{{.name = "a"}};
  const auto text = [&](const DeciderOptions& options) {
    return error_text([&] { Decider(fabric, sites, options); });
  };
  CHECK(text({.threshold = 0}).find("threshold") != std::string::npos);
  CHECK(text({.samples = 0}).find("no sample") != std::string::npos);
  CHECK(text({.cache_price = -1}).find("cached byte") != std::string::npos);
  CHECK(text({.claim_patience = std::chrono::milliseconds(0)}).find("time") != std::string::npos);
  CHECK(error_text([&] { Decider(fabric, {}); }).find("list of sites") != std::string::npos);
}

TEST_CASE("a_process_is_one_node_and_may_become_one_again") {
  dsfabric::Fabric fabric = support::alone();
  const std::vector<Site> sites{{.name = "a"}, {.name = "b"}};
  CHECK(error_text([&] { Node(fabric, sites, {2}); }).find("no site 2") != std::string::npos);
  Decider decider(fabric, sites);
  for (int i = 0; i < 2; ++i) {
    Node node(fabric, sites, {1});
    CHECK(error_text([&] { Node(fabric, sites, {0}); }).find("already") != std::string::npos);
    CHECK(node.site() == SiteId{1});
    CHECK_FALSE(node.moved());
    node.load(7);
    node.cached(9);
    decider.find_nodes();
    decider.look();
    REQUIRE(decider.nodes().size() == 1);
    CHECK(decider.nodes()[0].present);
    CHECK(decider.nodes()[0].site == SiteId{1});
    CHECK(decider.nodes()[0].load == 7);
    CHECK(decider.nodes()[0].cached == 9);
    CHECK(decider.load({1}) == 7);
    CHECK(decider.load({0}) == 0);
  }
  decider.look();
  CHECK_FALSE(decider.nodes()[0].present);
}

TEST_CASE("a_node_that_could_not_be_made_is_none") {
  dsfabric::Fabric fabric = support::alone();
  const std::vector<Site> sites{{.name = "a"}};
  // A counter of its has another unit already.
  monitoring::Board(fabric).counter("adaptation.load", "ms");
  for (int i = 0; i < 2; ++i) {
    CHECK(error_text([&] { Node(fabric, sites, {0}); }).find("another unit") != std::string::npos);
    Decider decider(fabric, sites);
    decider.look();
    CHECK_FALSE(decider.nodes()[0].present);
  }
}

TEST_CASE("a_node_of_another_list_is_told_of") {
  dsfabric::Fabric fabric = support::alone();
  Node node(fabric, {{.name = "a"}, {.name = "b"}}, {0});
  Decider decider(fabric, {{.name = "a"}});
  CHECK(error_text([&] { decider.step(); }).find("another list of sites") != std::string::npos);
}

TEST_CASE("a_word_is_that_of_one_node_and_counts_its_changes") {
  const PlaceWord first{{3}, {3}, false, PlaceWord::kChanges};
  const PlaceWord claim = first.claim_for({63});
  CHECK(claim.changes == 0);
  CHECK(claim.give_back().site == SiteId{3});
  CHECK(claim.confirm().site == SiteId{63});
  CHECK_FALSE(claim.confirm().claimed);
  const std::uint64_t word = claim.encode({5});
  const auto back = PlaceWord::decode(word, {5});
  REQUIRE(back);
  CHECK(back->site == SiteId{3});
  CHECK(back->target == SiteId{63});
  CHECK(back->claimed);
  CHECK_FALSE(PlaceWord::decode(word, {6}));
  CHECK_FALSE(PlaceWord::decode(word ^ 1, {5}));
  CHECK_FALSE(PlaceWord::decode(0, {5}));
}
