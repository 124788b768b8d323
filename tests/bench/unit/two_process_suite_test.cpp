// SPDX-License-Identifier: MIT
// A whole bench from fork to report: what it prints, and how it ends when one process fails.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "bench/harness/bench.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/temporary_folder.hpp"

namespace {

using support::contains;

struct Ending {
  int status = -1;
  std::string out;
  std::string err;
};

// Everything counts as near, so that bars are judged on any machine.
const std::vector<std::string> kNearAnywhere = {"--near", "1e12", "--core-speed", "0"};

std::vector<std::string> checked(std::vector<std::string> arguments) {
  arguments.push_back("--check");
  return arguments;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs the bench that `build` adds to, in a process of its own with its output in files.
Ending run_bench(const std::vector<std::string>& arguments,
                 const std::function<void(bench::Suite&)>& build) {
  const support::TemporaryFolder folder;
  const std::string out = folder.file("out");
  const std::string err = folder.file("err");
  std::vector<std::string> words = {"suite_bench"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());

  std::fflush(nullptr);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::alarm(50);  // below the time limit of the test
    const bool redirected = std::freopen(out.c_str(), "w", stdout) != nullptr &&
                            std::freopen(err.c_str(), "w", stderr) != nullptr;
    bench::Suite suite(static_cast<int>(argv.size()), argv.data(), "suite", "a test");
    build(suite);
    const int status = redirected ? suite.run() : 99;
    std::fflush(nullptr);
    ::_exit(status);
  }
  int wait_status = 0;
  REQUIRE(::waitpid(pid, &wait_status, 0) == pid);
  const int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  return {status, content_of(out), content_of(err)};
}

// A case in which process 1 counts what process 0 hands over, one by one.
bench::Case hand_over() {
  const auto measure = [](bench::Batch& batch) {
    auto& given = batch.channel().counter(0, 0);
    auto& taken = batch.channel().counter(1, 0);
    return batch.ns_each([&] {
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
        const std::uint64_t now = given.fetch_add(1) + 1;
        while (taken.load() != now) ::sched_yield();
      }
    });
  };
  const auto assist = [](bench::Batch& batch) {
    if (batch.rank() != 1) return;
    auto& given = batch.channel().counter(0, 0);
    auto& taken = batch.channel().counter(1, 0);
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      while (given.load() == taken.load()) ::sched_yield();
      taken.fetch_add(1);
    }
  };
  return {.name = "hand_over",
          .size = 8,
          .variants = {{.name = "a", .measure = measure, .assist = assist},
                       {.name = "b", .measure = measure, .assist = assist}},
          .ratios = {{.over = "a", .under = "b", .bar = ">= 0.001"}}};
}

bench::Case lone(std::function<double(bench::Batch&)> measure,
                 std::function<void(bench::Batch&)> assist = {}) {
  return {
      .name = "lone",
      .variants = {{.name = "only", .measure = std::move(measure), .assist = std::move(assist)}}};
}

[[noreturn]] void wait_for_ever() {
  for (;;) ::pause();
}

}  // namespace

TEST_CASE("suite_measures_with_two_processes_and_prints_a_table") {
  const Ending ending = run_bench({"--smoke"}, [](bench::Suite& suite) { suite.add(hand_over()); });
  CHECK_THAT(ending.err, contains("[1/1]"));
  CHECK_THAT(ending.out, contains("hand_over/a") && contains("hand_over/b") &&
                             contains("not judged") && contains("SMOKE"));
  CHECK(ending.status == 0);
}

TEST_CASE("suite_writes_its_report_as_json") {
  const support::TemporaryFolder folder;
  const std::string file = folder.file("report.json");
  const Ending ending = run_bench({"--smoke", "--runs", "3", "--json", file},
                                  [](bench::Suite& suite) { suite.add(hand_over()); });
  const auto json = nlohmann::json::parse(content_of(file));
  CHECK(ending.status == 0);
  REQUIRE(json.size() == 3);
  CHECK(json[2]["case"] == "hand_over");
  CHECK(json[2]["unit"] == "ratio");
  CHECK(json[2]["runs"] == 3);
}

TEST_CASE("suite_lists_its_cases_without_running_them") {
  const Ending ending = run_bench({"--list"}, [](bench::Suite& suite) {
    suite.setup([](bench::Channel&) { throw std::runtime_error("must not run"); });
    suite.add(hand_over());
  });
  CHECK(ending.status == 0);
  CHECK(ending.out == "hand_over/8\n");
}

TEST_CASE("suite_says_so_when_no_case_matches_the_filter") {
  const Ending ending =
      run_bench({"--filter", "other"}, [](bench::Suite& suite) { suite.add(hand_over()); });
  CHECK(ending.status == 2);
  CHECK_THAT(ending.err, contains("no case matches"));
}

TEST_CASE("set_up_runs_in_every_process_and_exchanges_endpoints") {
  const Ending ending = run_bench({"--smoke"}, [](bench::Suite& suite) {
    suite.processes(3);
    suite.setup([](bench::Channel& channel) {
      const auto names = channel.gather_bytes(std::string(channel.rank() + 1, 'x'));
      if (names != std::vector<std::string>{"x", "xx", "xxx"}) throw std::logic_error("names");
      const auto squares = channel.gather(channel.rank() * channel.rank());
      if (squares != std::vector<int>{0, 1, 4}) throw std::logic_error("squares");
    });
    suite.add(hand_over());
  });
  INFO(ending.err);
  CHECK(ending.status == 0);
}

TEST_CASE("suite_reports_a_child_that_throws") {
  const Ending ending = run_bench({"--smoke"}, [](bench::Suite& suite) {
    suite.setup([](bench::Channel& channel) {
      if (channel.rank() == 1) throw std::runtime_error("no such device");
    });
    suite.add(hand_over());
  });
  CHECK(ending.status == 1);
  CHECK_THAT(ending.err, contains("set-up") && contains("process 1") && contains("no such device"));
}

TEST_CASE("suite_reports_a_child_killed_while_the_parent_waits_for_it_in_a_batch") {
  const Ending ending = run_bench({"--smoke"}, [](bench::Suite& suite) {
    suite.add(lone([](bench::Batch&) -> double { wait_for_ever(); },
                   [](bench::Batch&) { ::kill(::getpid(), SIGKILL); }));
  });
  CHECK(ending.status == 1);
  CHECK_THAT(ending.err, contains("lone/0, variant only") && contains("killed by signal 9"));
}

TEST_CASE("suite_reports_a_parent_that_throws_while_the_child_waits_for_it_in_a_batch") {
  const Ending ending = run_bench({"--smoke"}, [](bench::Suite& suite) {
    suite.add(lone([](bench::Batch&) -> double { throw std::runtime_error("queue pair broken"); },
                   [](bench::Batch&) { wait_for_ever(); }));
  });
  CHECK(ending.status == 1);
  CHECK_THAT(ending.err, contains("lone/0, variant only") && contains("queue pair broken"));
}

TEST_CASE("suite_refuses_a_figure_that_is_not_positive") {
  const Ending ending = run_bench(
      {"--smoke"}, [](bench::Suite& suite) { suite.add(lone([](bench::Batch&) { return 0.0; })); });
  CHECK(ending.status == 1);
  CHECK_THAT(ending.err, contains("not a possible figure"));
}

TEST_CASE("suite_notes_a_skipped_variant_and_goes_on") {
  const Ending ending = run_bench({"--smoke"}, [](bench::Suite& suite) {
    suite.add(lone([](bench::Batch&) -> double { throw bench::Skip("peer: not installed"); }));
    suite.add(hand_over());
  });
  CHECK(ending.status == 0);
  CHECK_THAT(ending.out,
             contains("note: lone/0, only: peer: not installed") && contains("hand_over"));
}

TEST_CASE("what_a_variant_does_before_it_measures_makes_its_batch_no_longer") {
  // The figure is the number of iterations: a few, if the sleep counted.
  const auto build = [](bench::Suite& suite) {
    bench::Case item = lone([](bench::Batch& batch) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      (void)batch.ns_each([&] {
        for (std::uint64_t i = 0; i < batch.iterations(); ++i) bench::keep(i);
      });
      return static_cast<double>(batch.iterations());
    });
    item.variants[0].bar = ">= 50000";
    item.oversubscribed = true;
    suite.add(item);
  };
  std::vector<std::string> arguments = checked(kNearAnywhere);
  arguments.insert(arguments.end(), {"--batch-ms", "10"});
  CHECK(run_bench(arguments, build).status == 0);
}

TEST_CASE("missed_bar_fails_the_run_only_when_checked") {
  const auto build = [](bench::Suite& suite) {
    bench::Case item = lone([](bench::Batch&) { return 50.0; });
    item.variants[0].bar = "<= 35";
    item.max_iterations = 1;
    item.oversubscribed = true;
    suite.add(item);
  };
  const Ending unchecked = run_bench(kNearAnywhere, build);
  CHECK(unchecked.status == 0);
  CHECK_THAT(unchecked.out, contains("MISSED"));
  CHECK(run_bench(checked(kNearAnywhere), build).status == 1);
}

TEST_CASE("bar_that_cannot_be_judged_fails_the_check") {
  const auto build = [](bench::Suite& suite) {
    bench::Case item = lone([](bench::Batch&) { return 5.0; });
    item.variants[0].bar = "<= 35";
    item.max_iterations = 1;
    item.oversubscribed = true;
    suite.add(item);
  };
  CHECK(run_bench(checked(kNearAnywhere), build).status == 0);
  const Ending far = run_bench({"--near", "0.001", "--patience", "0", "--check"}, build);
  CHECK(far.status == 1);
  CHECK_THAT(far.out, contains("not judged"));
}

TEST_CASE("bench_for_far_cores_is_skipped_where_all_are_near") {
  const auto build = [](bench::Suite& suite) {
    bench::Case item = lone([](bench::Batch&) { return 5.0; });
    item.max_iterations = 1;
    item.oversubscribed = true;
    suite.add(item);
  };
  const Ending near = run_bench({"--far", "--near", "1e12", "--patience", "0.2"}, build);
  CHECK(near.status == 77);
  CHECK_THAT(near.out, contains("SKIPPED: the two cores were never far from each other"));
  const Ending far = run_bench({"--far", "--near", "0.001", "--core-speed", "0"}, build);
  CHECK(far.status == 0);
  CHECK_THAT(far.out, contains("far"));
}
