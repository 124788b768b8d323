// SPDX-License-Identifier: MIT
// Elastic jobs: who is refused, in which words, and what becomes of a job without its launcher.
#include <string>
#include <utility>
#include <vector>

#include "dsfabric/support/elastic_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"
#include "support/skip.hpp"

using namespace dsfabric;
using support::contains;
using support::ElasticForkJob;
using support::ElasticMemory;
using support::error_text;
using support::require;
using namespace std::chrono_literals;

namespace {

constexpr const char* kSockets = "newcomers come through the sockets of a launcher.";
/// Of ElasticMemory::words.
constexpr std::size_t kOver = 0;
constexpr std::size_t kBegun = 1;

void serve_until_over(Fabric& fabric, ElasticMemory& memory) {
  support::note_events(fabric, memory);
  fabric.run([&](Thread& self) {
    ++memory.words[kBegun];
    support::serve_while(self, [&] { return memory.words[kOver] == 0; });
  });
}

}  // namespace

TEST_CASE("newcomers_that_do_not_fit_are_refused_in_words_and_cost_the_job_nothing") {
  if (support::skipped_on_sim(kSockets)) return;
  ElasticForkJob job(1, 8, serve_until_over);
  const auto nothing = [](Fabric&, ElasticMemory&) {};
  const auto refusal = [&](std::vector<std::string> settings) {
    return job.wait(job.add(nothing, std::move(settings)));
  };
  CHECK_THAT(refusal({"CARIAMA_SECRET=guess"}), contains("secret is wrong"));
  CHECK_THAT(refusal({"CARIAMA_THREADS=2"}), contains("at most 1") && contains("CARIAMA_THREADS"));
  CHECK_THAT(refusal({"CARIAMA_RECEIVE_SIZE=8192"}), contains("receive_size is 4096"));
  CHECK(refusal({}) == "");
  // It has heard of the one that fitted, and of no others.
  CHECK(support::eventually([&] { return job.memory().event_counts[0] == 2; }));
  job.memory().words[kOver] = 1;
  CHECK(job.wait(0) == "");
}

TEST_CASE("end_of_the_launcher_ends_an_elastic_job_in_words") {
  if (support::skipped_on_sim(kSockets)) return;
  ElasticForkJob job(2, 3, [](Fabric& fabric, ElasticMemory& memory) {
    const std::string text = error_text([&] { serve_until_over(fabric, memory); });
    require(text.find("the launcher has ended") != std::string::npos, text);
  });
  REQUIRE(support::eventually([&] { return job.memory().words[kBegun] == 2; }));
  job.kill_launcher();
  support::eventually([&] { return false; }, 300ms);
  job.memory().words[kOver] = 1;
  for (std::size_t i = 0; i < job.started(); ++i) CHECK(job.wait(i) == "");
}

TEST_CASE("elastic_job_needs_a_launcher_that_starts_one") {
  Config config;
  config.device = support::device_name();
  config.alone = true;
  config.elastic = 3;
  if (support::skipped_on_sim("a job of one process has no simulation.")) return;
  CHECK_THAT(error_text([&] { join(config); }),
             contains("setting elastic") && contains("alone") && contains("scripts/run --elastic"));
}
