// SPDX-License-Identifier: MIT
// The trace of a run: what it shows, that it changes nothing, and what happens when it cannot be.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "simulation/simulation.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"

using dsfabric::Fabric;
using dsfabric::Thread;
using dtutils::SimulationReport;
using support::contains;
using support::require;
using namespace std::chrono_literals;

namespace {

/// A name for a file that goes with it.
struct TraceFile {
  ~TraceFile() { std::filesystem::remove(path); }
  std::string text() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  const std::string path =
      std::filesystem::temp_directory_path() / fmt::format("cariama-trace-{}.json", getpid());
};

/// Three nodes call each other; node 2 is stopped for a while, and what they do is marked.
SimulationReport traced_run(const std::string& trace) {
  simulation::Options options;
  options.cluster.trace = trace;
  options.config.superpage = 4 << 20;
  options.plan = [](dtutils::Simulation& cluster) {
    cluster.at(1ms, [&] { cluster.stop(2, 3ms); });
  };
  return simulation::run(3, options, [](Fabric& fabric) {
    fabric.run([](Thread& self) {
      const simulation::Span all("the \"whole\"\nrun");
      dsfabric::SendChannel calls(self.fabric());
      dtutils::sleep_for(2ms);
      {
        const simulation::Span inside("a call to the next");
        CHECK(calls.call_return(self.neighbour(+1), [] { return 42; }).get() == 42);
        simulation::mark("it has answered");
      }
      simulation::compute(5us);
      self.barrier();
    });
  });
}

}  // namespace

TEST_CASE("trace_of_a_simulation_changes_nothing_in_the_run") {
  const TraceFile file;
  const SimulationReport without = traced_run({});
  const SimulationReport with_trace = traced_run(file.path);
  CHECK(without.error == "");
  CHECK(with_trace.error == "");
  CHECK(with_trace.trace_error == "");
  CHECK(with_trace.digest == without.digest);
  CHECK(with_trace.events == without.events);
  CHECK(with_trace.switches == without.switches);
  CHECK(with_trace.time == without.time);
  CHECK(file.text().size() > 1000);
}

TEST_CASE("trace_of_a_simulation_shows_requests_waits_faults_and_marks") {
  const TraceFile file;
  CHECK(traced_run(file.path).error == "");
  const std::string text = file.text();
  CHECK(text.starts_with("[\n{"));
  CHECK(text.ends_with("}\n]\n"));
  CHECK_THAT(text, contains(R"("name":"process_name","args":{"name":"node 2"}})"));
  CHECK_THAT(text, contains(R"("cat":"post","name":"send of )"));
  CHECK_THAT(text, contains(R"("cat":"arrival","name":"send of )"));
  CHECK_THAT(text, contains(R"("cat":"wait","name":"sleeps","dur":2000.000})"));
  CHECK_THAT(text, contains(R"("cat":"compute","name":"computes","dur":5.000})"));
  // Node 2 is process 3 there.
  CHECK_THAT(text, contains("{\"ph\":\"i\",\"pid\":3,\"tid\":1,\"ts\":1000.000,\"cat\":\"fault\","
                            "\"name\":\"is stopped for 3000000ns\""));
  CHECK_THAT(text, contains(R"("cat":"stall","name":"is stopped")"));
  CHECK_THAT(text, contains(R"("cat":"mark","name":"the \"whole\"?run"})"));
  CHECK_THAT(text, contains(R"("cat":"mark","name":"a call to the next"})"));
  CHECK_THAT(text, contains(R"("cat":"mark","name":"it has answered","s":"t"})"));
}

TEST_CASE("spans_and_marks_outside_of_traces_do_nothing") {
  const simulation::Span span("nowhere");
  simulation::mark("nowhere");
  CHECK(traced_run({}).trace_error == "");
}

TEST_CASE("trace_that_cannot_be_written_is_told_in_words") {
  try {
    traced_run("/no-such-folder/trace.json");
    FAIL("it ran");
  } catch (const dtutils::Error& error) {
    CHECK_THAT(error.what(), contains("trace /no-such-folder/trace.json") &&
                                 contains("cannot be written") && contains("No such file"));
  }
  const SimulationReport full = traced_run("/dev/full");
  CHECK(full.error == "");
  CHECK(full.trace_error == "trace /dev/full: the file is not whole: No space left on device");
  CHECK(full.digest == traced_run({}).digest);
}
