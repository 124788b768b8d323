// SPDX-License-Identifier: MIT
// No rollout is lost or doubled: counts add up over all processes, threads, modes and seeds.
#include <cmath>
#include <stdexcept>

#include "mcts/support/job.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using games::Hex11;
using mcts::Limits;
using mcts::Report;
using mcts::Settings;
using support::HexSearcher;
using support::require;
using support::require_equal;
using support::require_exact;
using support::SearchJob;
using support::think_exactly;

namespace {

/// Several phases of a search; all counts at the end, node by node.
template <class Searcher>
void search_and_audit(Searcher& searcher, std::size_t size, const Settings& settings,
                      std::uint64_t rollouts) {
  Limits limits;
  limits.rollouts = rollouts;
  limits.phase = rollouts / 3;
  const Report report = think_exactly(searcher, Hex11(size), settings, limits);
  require_equal(report.total.started, rollouts, "rollouts");
  require_equal(report.phases, rollouts % 3 == 0 ? 3u : 4u, "phases");
  std::uint64_t points = 0;
  for (const mcts::MoveReport& move : report.moves) {
    points +=
        static_cast<std::uint64_t>(std::llround(move.value * 2 * settings.playouts * move.visits));
  }
  require_equal(points, report.total.points, "the points at the root");
}

Settings audited(std::uint64_t seed) {
  Settings settings;
  settings.audit = true;
  settings.stop_when_proven = false;
  settings.seed = seed;
  return settings;
}

template <class Channel = mcts::SendLink>
void audit_all_modes(const SearchJob& job, std::uint64_t rollouts) {
  const std::uint64_t seed = support::test_seed();
  INFO("seed " << seed << ", adversary " << job.adversary);
  CHECK(job.run<Hex11, Channel>([&](mcts::Searcher<Hex11, Channel>& searcher) {
    for (const bool always_call : {false, true}) {
      // One playout without RAVE; four in another spread; five in the third.
      for (const std::uint32_t playouts : {1u, 4u, 5u}) {
        Settings settings = audited(seed + playouts);
        settings.playouts = playouts;
        settings.always_call = always_call;
        settings.spread = playouts == 5                    ? mcts::Spread::kLeaves
                          : (playouts == 4) != always_call ? mcts::Spread::kUniform
                                                           : mcts::Spread::kNear;
        settings.rave = playouts >= 4 ? 50 : 0;
        // Small boards end often, and let selections wait for each other's nodes.
        for (const std::size_t size : {2, 4, 11}) {
          search_and_audit(searcher, size, settings, rollouts);
        }
      }
    }
  }) == "");
}

}  // namespace

/// The thread sanitizer does not follow the fences by which the shm device hands bytes of a ring
/// from one thread of a process to another.
#if defined(__SANITIZE_THREAD__)
constexpr std::uint32_t kRingThreads = 1;
#else
constexpr std::uint32_t kRingThreads = 2;
#endif

TEST_CASE("counts_are_exact_alone") { audit_all_modes({1, 1}, 2000); }
TEST_CASE("counts_are_exact_with_threads") { audit_all_modes({1, 3}, 1000); }
TEST_CASE("counts_are_exact_with_processes") { audit_all_modes({3, 1}, 1000); }
TEST_CASE("counts_are_exact_with_processes_and_threads") { audit_all_modes({2, 2}, 1000); }
TEST_CASE("counts_are_exact_with_threads_and_an_adversary") {
  audit_all_modes({1, 2, support::test_seed() | 1}, 200);
}
TEST_CASE("counts_are_exact_with_processes_and_an_adversary") {
  audit_all_modes({2, 1, support::test_seed() | 1}, 200);
}
TEST_CASE("counts_are_exact_with_everything_and_an_adversary") {
  audit_all_modes({3, 2, support::test_seed() | 1}, 100);
}

TEST_CASE("counts_are_exact_by_messengers") {
  audit_all_modes<mcts::MessengerLink>({2, kRingThreads}, 1000);
}
TEST_CASE("counts_are_exact_by_traditional_aggregators") {
  audit_all_modes<mcts::TraditionalLink>({2, kRingThreads}, 1000);
}
TEST_CASE("counts_are_exact_by_overflow_aggregators") {
  audit_all_modes<mcts::OverflowLink>({3, 1}, 1000);
}
TEST_CASE("counts_are_exact_by_rings_and_an_adversary") {
  audit_all_modes<mcts::TraditionalLink>({2, 1, support::test_seed() | 1}, 100);
  audit_all_modes<mcts::MessengerLink>({2, kRingThreads, support::test_seed() | 1}, 100);
}

TEST_CASE("counts_are_exact_with_rave") {
  for (const SearchJob& job :
       {SearchJob{1, 1}, SearchJob{2, 1}, SearchJob{2, 2, support::test_seed() | 1}}) {
    const std::uint64_t seed = support::test_seed();
    INFO("seed " << seed << ", adversary " << job.adversary);
    CHECK(job.run<Hex11>([&](HexSearcher& searcher) {
      Settings settings = audited(seed);
      for (const mcts::Spread spread : {mcts::Spread::kNear, mcts::Spread::kLeaves}) {
        settings.spread = spread;
        for (const std::size_t size : {2, 5, 11}) {
          search_and_audit(searcher, size, settings, job.adversary != 0 ? 150 : 1500);
        }
      }
    }) == "");
  }
}

/// Searches until the other process has taken part: a search of these may be over before the other
/// process gets a core.
Report shared_search(HexSearcher& searcher, const Settings& settings, std::size_t size) {
  constexpr int kMax = 100;
  Limits limits;
  limits.rollouts = 4000;
  for (int i = 0; i < kMax; ++i) {
    const Report report = searcher.think(Hex11(size), settings, limits);
    require_exact(report);
    if (report.total.calls > 0) return report;
  }
  throw std::runtime_error("the other process never took part");
}

TEST_CASE("nodes_near_their_parents_need_fewer_calls") {
  const SearchJob job{2, 1};
  CHECK(job.run<Hex11>([&](HexSearcher& searcher) {
    Settings settings = audited(1);
    settings.rave = 0;
    settings.spread = mcts::Spread::kNear;
    const Report near = shared_search(searcher, settings, 5);
    settings.spread = mcts::Spread::kUniform;
    const Report uniform = shared_search(searcher, settings, 5);
    require(near.total.calls < uniform.total.calls, "fewer calls");
  }) == "");
}

TEST_CASE("lent_leaves_are_simulated_elsewhere_and_have_their_nodes_here") {
  const SearchJob job{2, 1};
  CHECK(job.run<Hex11>([&](HexSearcher& searcher) {
    Settings settings = audited(1);
    settings.spread = mcts::Spread::kLeaves;
    const Report report = shared_search(searcher, settings, 7);
    require(report.total.calls <= 2 * report.total.finished, "one call each way at most");
    require(searcher.audit() == 0, "visits of nodes");
  }) == "");
}

TEST_CASE("selections_that_wait_for_a_node_go_on_when_it_is_there") {
  // One move at a time and many rollouts under way: they meet at nodes that are being made.
  const SearchJob job{2, 2};
  CHECK(job.run<Hex11>([&](HexSearcher& searcher) {
    Settings settings = audited(1);
    settings.always_call = true;
    settings.playouts = 1;
    settings.window = 64;
    std::uint64_t deferred = 0;
    for (std::uint64_t seed = 1; seed < 20 && deferred == 0; ++seed) {
      settings.seed = seed;
      Limits limits;
      limits.rollouts = 2000;
      const Report report = think_exactly(searcher, Hex11(2), settings, limits);
      deferred += report.total.deferred;
    }
    require(deferred > 0, "some selection waited");
  }) == "");
}

TEST_CASE("counts_are_exact_at_the_limit_of_memory") {
  for (const SearchJob& job : {SearchJob{1, 1, 0, 256 << 10}, SearchJob{2, 2, 0, 512 << 10}}) {
    CHECK(job.run<Hex11>([&](HexSearcher& searcher) {
      Settings settings = audited(1);
      settings.playouts = 1;
      Limits limits;
      limits.rollouts = 30000;
      const Report report = think_exactly(searcher, Hex11(11), settings, limits);
      require(report.total.refused > 1000, "the limit was met");
      require(report.total.nodes < job.processes * job.memory / mcts::kCell, "and kept to");
      require(report.best() != mcts::kNoMove, "there is a move all the same");
    }) == "");
  }
}

TEST_CASE("others_share_the_work_when_memory_is_short") {
  const SearchJob job{2, 1, 0, 64 << 10};
  CHECK(job.run<Hex11>([](HexSearcher& searcher) {
    Settings settings = audited(1);
    settings.spread = mcts::Spread::kLeaves;
    // Work for longer than a process may have to wait for a core.
    settings.playouts = 512;
    Limits limits;
    limits.rollouts = 3000;
    const Report report = think_exactly(searcher, Hex11(11), settings, limits);
    require(report.total.refused > 2000, "most rollouts met the limit");
    // A leaf that is lent makes two calls. So many were not of new nodes:
    require(report.total.calls > 2 * report.total.nodes + report.total.refused / 20,
            "the other process had work");
  }) == "");
}

TEST_CASE("fewer_processes_than_the_job_has_can_be_chosen") {
  const SearchJob job{3, 1};
  CHECK(job.run<Hex11>([&](HexSearcher& searcher) {
    Settings settings = audited(1);
    Limits limits;
    limits.rollouts = 500;
    for (const std::uint32_t processes : {1u, 2u, 3u}) {
      settings.processes = processes;
      const Report report = think_exactly(searcher, Hex11(5), settings, limits);
      require((report.total.calls == 0) == (processes == 1), "calls only to those that take part");
    }
  }) == "");
}

TEST_CASE("one_thread_and_a_seed_repeat_a_search") {
  const SearchJob job{1, 1};
  CHECK(job.run<Hex11>([&](HexSearcher& searcher) {
    Limits limits;
    limits.rollouts = 5000;
    for (const float rave : {0.0F, 100.0F}) {
      std::vector<Report> reports;
      for (const std::uint64_t seed : {7, 7, 8}) {
        Settings settings;
        settings.seed = seed;
        settings.rave = rave;
        reports.push_back(searcher.think(Hex11(6), settings, limits));
      }
      const auto same = [](const Report& a, const Report& b) {
        if (a.moves.size() != b.moves.size() || a.line != b.line) return false;
        for (std::size_t i = 0; i < a.moves.size(); ++i) {
          const auto &x = a.moves[i], &y = b.moves[i];
          if (x.move != y.move || x.visits != y.visits || x.value != y.value) return false;
        }
        return true;
      };
      require(same(reports[0], reports[1]), "equal seeds, equal searches");
      require(!same(reports[0], reports[2]), "another seed, another search");
    }
  }) == "");
}

TEST_CASE("time_ends_a_search") {
  const SearchJob job{2, 1};
  CHECK(job.run<Hex11>([&](HexSearcher& searcher) {
    Limits limits;
    limits.seconds = 0.3;
    limits.phase = 5000;
    int calls = 0;
    const Report report =
        searcher.think(Hex11(9), Settings{}, limits, [&](const Report&) { ++calls; });
    require_exact(report);
    require(report.seconds > 0.29 && report.seconds < 5, "about that long");
    require(calls > 0, "progress was told");
  }) == "");
}
