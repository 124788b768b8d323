// SPDX-License-Identifier: MIT
// Everybody counts, and goes on when everybody is there: the first example of SST.
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>

#include "common/command_line.hpp"
#include "common/figures.hpp"
#include "dtutils/clock.hpp"
#include "simulation/cariama_main.hpp"
#include "sst/sst.hpp"

namespace {

struct Options {
  std::uint64_t counts = 100'000;
  std::string mode = "writes";
  std::string json;
};

struct Row {
  std::uint64_t count;
};

void count_together(dsfabric::Fabric& fabric, const Options& options) {
  sst::TableGroup group{fabric};
  sst::Table<Row> table{
      group, {.mode = options.mode == "writes" ? sst::Mode::kWrites : sst::Mode::kReads}};
  const std::uint64_t goal = options.counts;
  table
      .when([goal](const auto& t) {  // everybody has come as far as I have
        const std::uint64_t mine = t.mine(&Row::count);
        return mine < goal && t.min(&Row::count) >= mine;
      })
      .recurrent([](auto& t) { t.set(&Row::count, t.mine(&Row::count) + 1); });

  // What all have reached, as ranges of everything that is new at once.
  std::uint64_t reached = 0;
  std::uint64_t ranges = 0;
  table.when_grows([](const auto& t) { return t.min(&Row::count); }, std::uint64_t{0})
      .deliver([&](auto&, std::uint64_t, std::uint64_t last) {
        reached = last;
        ++ranges;
      });

  const auto begin = dtutils::Clock::now();
  sst::Pace pace{fabric};
  while (reached < goal) pace.after(table.evaluate());
  const std::chrono::duration<double> took = dtutils::Clock::now() - begin;
  // Rows are fetched from their owners, so none may leave before all have seen the end.
  if (options.mode == "reads") fabric.run([](dsfabric::Thread&) {});

  if (fabric.process().value != 0) return;
  const double rate = static_cast<double>(goal) / took.count();
  fmt::print("{} processes counted to {} in {:.3f} s: {:.0f} counts a second, in {} ranges\n",
             fabric.processes(), goal, took.count(), rate, ranges);
  if (!options.json.empty()) {
    common::write_json(options.json, {{"processes", fabric.processes()},
                                      {"mode", options.mode},
                                      {"counts", goal},
                                      {"seconds", took.count()},
                                      {"ranges", ranges},
                                      {"counts_per_second", rate}});
  }
}

}  // namespace

int cariama_main(int argc, char** argv) try {
  Options options;
  dsfabric::Config config;
  common::CommandLine line{"All processes of a job count together; start several by scripts/run."};
  line.option("--counts", options.counts, "How far")
      .option("--mode", options.mode, "How rows come to the others", {"writes", "reads"})
      .option("--json", options.json, "Also write the figures to this file");
  if (const auto status = line.parse(argc, argv, config)) return *status;
  dsfabric::Fabric fabric = dsfabric::join(config);
  count_together(fabric, options);
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "counting: {}\n", error.what());
  return EXIT_FAILURE;
}
