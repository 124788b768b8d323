// SPDX-License-Identifier: MIT
// A process dies in the middle of a search: the others end, with the best move and the reason.
#include <signal.h>
#include <unistd.h>

#include "mcts/support/job.hpp"
#include "support/catch.hpp"

using games::Hex11;
using support::ForkJob;
using support::Member;
using support::require;
using support::SearchJob;

namespace {

/// One process, `victim`, is killed while all search; what the root saw is checked.
template <class Channel>
std::string die_in_a_search(std::uint32_t victim, std::uint32_t processes = 3,
                            std::uint64_t phase = mcts::Limits().phase) {
  const SearchJob job{processes, 1};
  ForkJob forked(processes, [&](Member& member) {
    const auto drive = [&](mcts::Searcher<Hex11, Channel>& searcher) {
      mcts::Limits limits;
      limits.seconds = 20;
      limits.phase = phase;
      const auto progress = [&](const mcts::Report&) { member.memory.words[0] = 1; };
      const mcts::Report report = searcher.think(Hex11(9), mcts::Settings(), limits, progress);
      require(report.failure.find("process " + std::to_string(victim)) != std::string::npos,
              "the failure names it: " + report.failure);
      require(report.best() != mcts::kNoMove, "there is a best move");
      require(report.seconds < 10, "and no long wait");
      require(report.total.started > 0 && report.total.nodes + report.total.simulations > 0,
              "what the root's worker did is counted");
      const mcts::Report again = searcher.think(Hex11(9), mcts::Settings(), limits);
      require(again.failure == report.failure, "later searches say so at once");
      member.memory.words[1] = 1;
    };
    try {
      job.join<Hex11, Channel>(member, drive);
    } catch (const dsfabric::PeerFailed&) {
      require(member.memory.words[0] == 1, "not before the death");
    }
  });
  const bool searching = support::eventually([&] { return forked.memory().words[0] == 1; });
  forked.kill(victim);
  const std::string bad = forked.wait(std::chrono::seconds(20));
  if (!searching) return "the search did not begin\n" + bad;
  if (victim != 0 && forked.memory().words[1] != 1) return "no report at the root\n" + bad;
  return bad;
}

}  // namespace

TEST_CASE("the_root_reports_the_best_move_when_another_process_dies") {
  CHECK(die_in_a_search<mcts::SendLink>(1) == "1: signal 9\n");
  CHECK(die_in_a_search<mcts::MessengerLink>(2) == "2: signal 9\n");
  CHECK(die_in_a_search<mcts::TraditionalLink>(1) == "1: signal 9\n");
}

TEST_CASE("the_root_does_not_finish_a_long_phase_alone") {
  // Of two processes the other only simulates leaves, which the root can do as well.
  CHECK(die_in_a_search<mcts::MessengerLink>(1, 2, std::uint64_t{1} << 40) == "1: signal 9\n");
}

TEST_CASE("the_others_end_when_the_root_dies") {
  CHECK(die_in_a_search<mcts::MessengerLink>(0) == "0: signal 9\n");
}

TEST_CASE("searches_that_cannot_be_are_refused") {
  CHECK(SearchJob{1, 1}.run<Hex11>([](support::HexSearcher& searcher) {
    const auto refused = [&](const Hex11& position, std::uint32_t playouts) {
      mcts::Settings settings;
      settings.playouts = playouts;
      try {
        searcher.think(position, settings, {});
      } catch (const dtutils::Error&) {
        return true;
      }
      return false;
    };
    Hex11 over(1);
    over.apply(0);
    require(refused(over, 16), "the game is over");
    require(refused(Hex11(3), 0), "no playouts");
    require(refused(Hex11(3), 5000), "too many playouts");
  }) == "");
}
