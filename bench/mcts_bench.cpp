// SPDX-License-Identifier: MIT
// Measures the tree search at Hex 11 x 11: against a plain one, with two processes, two threads.
#include <algorithm>
#include <string_view>

#include "bench/mcts/jobs.hpp"

namespace {

using mcts_bench::Calls;
using mcts_bench::JobsPtr;

/// Of one batch: enough that the tree is deeper than its first two levels, and that the beginning,
/// when all selections meet in few nodes, is a small part.
struct Rollouts {
  std::uint64_t one_playout = 200'000;
  std::uint64_t more = 240'000;
  std::uint64_t of(std::uint32_t playouts) const { return playouts == 1 ? one_playout : more; }
};

/// Without RAVE: the search that the plain one does too.
mcts::Settings settings_of(std::uint32_t playouts, std::uint32_t processes = 0) {
  mcts::Settings settings;
  settings.playouts = playouts;
  settings.processes = processes;
  settings.rave = 0;
  return settings;
}
mcts::Settings with_rave(mcts::Settings settings) {
  settings.rave = mcts::Settings().rave;
  return settings;
}

bench::Variant together(const char* name, const JobsPtr& jobs, const mcts::Settings& settings,
                        Calls calls = Calls::kMessenger) {
  const auto work = [=, &jobs](bench::Batch& batch) {
    return search(jobs->together, calls, settings, batch.iterations());
  };
  return {.name = name, .measure = work, .assist = work};
}

bench::Case case_of(const char* name, const Rollouts& rollouts, std::uint32_t playouts,
                    std::vector<bench::Variant> variants, std::vector<bench::Ratio> ratios = {}) {
  return {.name = name,
          .size = playouts,
          .unit = bench::Unit::kPerSecond,
          .variants = std::move(variants),
          .ratios = std::move(ratios),
          .min_iterations = rollouts.of(playouts),
          .max_iterations = rollouts.of(playouts)};
}

void add_one_thread(bench::Suite& suite, const JobsPtr& jobs, const Rollouts& rollouts) {
  for (const std::uint32_t playouts : {1u, 16u}) {
    const mcts::Settings settings = settings_of(playouts);
    const auto plain = [=](bench::Batch& batch) {
      return mcts_bench::search_plainly(settings, batch.iterations());
    };
    const auto framework = [=, &jobs](bench::Batch& batch) {
      return search(jobs->alone, Calls::kMessenger, settings, batch.iterations());
    };
    suite.add(
        case_of("plain_uct", rollouts, playouts,
                {{.name = "plain", .measure = plain, .bar = playouts == 1 ? ">= 500000" : ""}}));
    suite.add(
        case_of("framework_1_thread_vs_plain", rollouts, playouts,
                {{.name = "framework", .measure = framework}, {.name = "plain", .measure = plain}},
                {{.over = "framework", .under = "plain", .bar = ">= 0.8"}}));
  }
}

/// What the machine gives to two processes that have nothing to do with each other: no search can
/// scale better. Both do the same at once, so the rate of both is twice that of one of them.
void add_independent(bench::Suite& suite, const Rollouts& rollouts) {
  for (const std::uint32_t playouts : {16u, 1u}) {
    const mcts::Settings settings = settings_of(playouts);
    const auto one = [=](bench::Batch& batch) {
      return mcts_bench::search_plainly(settings, batch.iterations());
    };
    const auto two = [=](bench::Batch& batch) { return 2 * one(batch); };
    suite.add(
        case_of("independent_2_vs_1", rollouts, playouts,
                {{.name = "two", .measure = two, .assist = one}, {.name = "one", .measure = one}},
                {{.over = "two", .under = "one"}}));
  }
}

void add_processes(bench::Suite& suite, const JobsPtr& jobs, const Rollouts& rollouts) {
  for (const std::uint32_t playouts : {16u, 1u}) {
    suite.add(
        case_of("processes_2_vs_1", rollouts, playouts,
                {together("two", jobs, settings_of(playouts)),
                 together("one", jobs, settings_of(playouts, 1))},
                {{.over = "two", .under = "one", .bar = playouts == 1 ? ">= 1.5" : ">= 1.85"}}));
  }
  suite.add(case_of("rave_processes_2_vs_1", rollouts, 16,
                    {together("two", jobs, with_rave(settings_of(16))),
                     together("one", jobs, with_rave(settings_of(16, 1)))},
                    {{.over = "two", .under = "one"}}));
  mcts::Settings leaves = settings_of(16);
  leaves.spread = mcts::Spread::kLeaves;
  mcts::Settings near = leaves;
  near.spread = mcts::Spread::kNear;
  mcts::Settings uniform = leaves;
  uniform.spread = mcts::Spread::kUniform;
  suite.add(case_of("spread", rollouts, 16,
                    {together("uniform", jobs, uniform), together("near", jobs, near),
                     together("leaves", jobs, leaves)},
                    {{.over = "uniform", .under = "near"}, {.over = "leaves", .under = "near"}}));
  for (const std::uint32_t playouts : {16u, 1u}) {
    const mcts::Settings settings = settings_of(playouts);
    suite.add(case_of("traditional_vs_overflow", rollouts, playouts,
                      {together("traditional", jobs, settings, Calls::kTraditional),
                       together("overflow", jobs, settings, Calls::kOverflow),
                       together("messenger", jobs, settings)},
                      {{.over = "traditional", .under = "overflow"}}));
  }
}

void add_threads(bench::Suite& suite, const JobsPtr& jobs, const Rollouts& rollouts) {
  for (const std::uint32_t playouts : {16u, 1u}) {
    const auto of = [=, &jobs](bool two) {
      return [=, &jobs](bench::Batch& batch) {
        const mcts_bench::AllCores all(jobs->cores);
        return search(two ? jobs->two_threads : jobs->alone, Calls::kMessenger,
                      settings_of(playouts), batch.iterations());
      };
    };
    suite.add(case_of("threads_2_vs_1", rollouts, playouts,
                      {{.name = "two", .measure = of(true)}, {.name = "one", .measure = of(false)}},
                      {{.over = "two", .under = "one", .bar = playouts == 16 ? ">= 1.85" : ""}}));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string device = "shm";
  JobsPtr jobs;
  bench::Suite suite(argc, argv, "mcts_bench", "tree search at Hex 11 x 11; simulations a second");
  suite.option("--device", device, "Device to measure, as dtutils::open_device knows it");
  suite.setup(
      [&](bench::Channel& channel) { jobs = std::make_unique<mcts_bench::Jobs>(channel, device); });
  suite.teardown([&](bench::Channel& channel) {
    channel.barrier();
    jobs.reset();
  });
  Rollouts rollouts;
  // A smoke run is short under a sanitizer too.
  if (std::find(argv, argv + argc, std::string_view("--smoke")) != argv + argc) {
    rollouts = {2000, 500};
  }
  add_one_thread(suite, jobs, rollouts);
  add_independent(suite, rollouts);
  add_processes(suite, jobs, rollouts);
  add_threads(suite, jobs, rollouts);
  return suite.run();
}
