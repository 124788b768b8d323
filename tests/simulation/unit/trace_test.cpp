// SPDX-License-Identifier: MIT
// The trace of a run: what it shows, that it changes nothing, and what happens when it cannot be.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "simulation/simulation.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

using dsfabric::Fabric;
using dsfabric::Thread;
using dtutils::SimulationReport;
using support::contains;
using support::require;
using namespace std::chrono_literals;

namespace {

struct TraceFile {
  std::string text() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  const support::TemporaryFolder folder;
  const std::string path = folder.file("trace.json");
};

/// What a call runs that the trace shows by its name.
struct Work {
  static constexpr char kCallName[] = "work";
  void operator()() const { simulation::compute(7us); }
};

struct Fail {
  static constexpr char kCallName[] = "fail";
  int operator()() const { throw 1; }
};

/// Each of two nodes calls the other one.
std::string trace_of_calls(const TraceFile& file) {
  simulation::Options options;
  options.cluster.trace = file.path;
  options.config.superpage = 4 << 20;
  const SimulationReport report = simulation::run(2, options, [](Fabric& fabric) {
    fabric.run([](Thread& self) {
      dsfabric::SendChannel calls(self.fabric());
      require(calls.call(self.neighbour(+1), Work()), "accepted");
      dsfabric::wait_for_termination(self);
      CHECK_THROWS(calls.call_return(self.neighbour(+1), Fail()).get());
      self.barrier();
    });
  });
  CHECK(report.error == "");
  return file.text();
}

/// Events of the line on which an event with this name is, from that event on.
std::vector<std::string> events_from(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  std::vector<std::string> events;
  std::string place;
  for (std::string event; std::getline(lines, event);) {
    const auto its_place = [&] {
      const std::size_t begin = event.find("\"pid\"");
      return begin == std::string::npos ? "" : event.substr(begin, event.find("\"ts\"") - begin);
    };
    if (events.empty() && event.find(name) == std::string::npos) continue;
    if (events.empty()) place = its_place();
    if (its_place() == place) events.push_back(event);
  }
  return events;
}

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

TEST_CASE("trace_of_a_simulation_shows_calls_by_name_while_they_run") {
  const TraceFile file;
  const std::string text = trace_of_calls(file);
  for (const unsigned caller : {0u, 1u}) {
    INFO(fmt::format("the call of node {}", caller));
    const std::vector<std::string> events =
        events_from(text, fmt::format(R"("cat":"call","name":"work from thread {}.0"}})", caller));
    REQUIRE(events.size() > 2);
    CHECK_THAT(events[0], contains(fmt::format(R"({{"ph":"B","pid":{},)", 2 - caller)));
    CHECK_THAT(events[1], contains(R"("cat":"compute","name":"computes","dur":7.000})"));
    CHECK_THAT(events[2], contains(R"({"ph":"E",)"));
  }
  // One that throws ends, too.
  const std::vector<std::string> thrown =
      events_from(text, R"("cat":"call","name":"fail/r(int) from thread 1.0"})");
  REQUIRE(thrown.size() > 1);
  const auto is_end = [](const std::string& event) { return event.find("\"E\"") != event.npos; };
  CHECK(std::ranges::any_of(thrown, is_end));
  CHECK(trace_of_calls(file) == text);
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
