// SPDX-License-Identifier: MIT
// What a board takes and refuses, in a job of one process.
#include <string>

#include "dsfabric/support/alone.hpp"
#include "monitoring/monitoring.hpp"
#include "page.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace monitoring;

TEST_CASE("a_counter_has_one_word_whoever_asks_for_it") {
  dsfabric::Fabric fabric = support::alone();
  Board board(fabric), another(fabric);
  Counter first = board.counter("a", "B");
  first.set(5);
  CHECK(another.counter("a", "B").value() == 5);
  CHECK(support::error_text([&] { another.counter("a", "us"); }).find("another unit or kind") !=
        std::string::npos);
  CHECK(support::error_text([&] {
          another.counter("a", "B", Kind::kLevel);
        }).find("another unit or kind") != std::string::npos);
}

TEST_CASE("names_that_cannot_be_shown_are_refused") {
  dsfabric::Fabric fabric = support::alone();
  Board board(fabric);
  for (const std::string& name :
       {std::string(), std::string("two words"), std::string(kMaxCounterName + 1, 'x'),
        std::string("a\0b", 3), std::string("line\rfeed"), std::string("\x1b[2J")}) {
    CHECK(support::error_text([&] { board.counter(name); }).starts_with("counter '"));
  }
  CHECK(support::error_text([&] { board.counter("u", "\v"); }).find("its unit is no unit") !=
        std::string::npos);
  CHECK(support::error_text([&] { board.counter("u", "more than 8"); }).find("is no unit") !=
        std::string::npos);
  const std::string longest(kMaxCounterName, 'y');
  board.counter(longest, std::string(kMaxUnit, 'z'));
  Watcher watcher(fabric);
  const auto& counters = watcher.counters(fabric.process(), 1);
  REQUIRE(counters.size() == 1);
  CHECK(counters[0].name == longest);
  CHECK(counters[0].unit == std::string(kMaxUnit, 'z'));
}

TEST_CASE("a_full_board_says_so_and_goes_on") {
  dsfabric::Fabric fabric = support::alone();
  Board board(fabric);
  for (std::uint32_t i = 0; i < kMaxCounters; ++i) board.counter(std::to_string(i)).set(i);
  CHECK(support::error_text([&] { board.counter("more"); }).find("120 counters already") !=
        std::string::npos);
  Watcher watcher(fabric);
  Reading reading;
  REQUIRE(watcher.read(fabric.process(), reading) == Status::kDone);
  REQUIRE(reading.count == kMaxCounters);
  CHECK(reading.values[kMaxCounters - 1] == kMaxCounters - 1);
  CHECK(watcher.counters(fabric.process(), reading.count).back().name == "119");
}

TEST_CASE("an_application_with_ten_thousand_counters_hears_of_the_limit_and_keeps_what_it_has") {
  dsfabric::Fabric fabric = support::alone();
  Board board(fabric);
  std::uint32_t refused = 0;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    const std::string text = support::error_text(
        [&] { board.counter("user." + std::to_string(i) + ".requests").add(i + 1); });
    if (text == "(no error)") continue;
    ++refused;
    REQUIRE(text.find("which is the limit (monitoring::kMaxCounters)") != std::string::npos);
  }
  CHECK(refused == 10'000 - kMaxCounters);
  CHECK(board.counter("user.0.requests").value() == 1);
  // So does a service that needs some of its own, and nothing of it is left.
  CHECK(support::error_text([&] {
          const Sampler sampler(fabric, std::chrono::hours(1));
        }).find("which is the limit") != std::string::npos);
  Watcher watcher(fabric);
  Reading reading;
  for (int i = 0; i < 100; ++i) {
    REQUIRE(watcher.read(fabric.process(), reading) == Status::kDone);
    REQUIRE(reading.count == kMaxCounters);
    REQUIRE(reading.values[kMaxCounters - 1] == kMaxCounters);
  }
}

TEST_CASE("a_block_of_another_version_or_without_a_copy_is_told") {
  detail::Block block{};
  Reading reading;
  CHECK(detail::decode(block, false, reading) == Status::kOtherLayout);
  block.layout = detail::kLayout;
  block.count = 7;
  CHECK(detail::decode(block, false, reading) == Status::kDone);
  CHECK(reading.count == 7);
  CHECK(detail::decode(block, true, reading) == Status::kNoSample);
  block.sampled_at = 3;
  block.count = 10'000;  // what a broken peer may write
  CHECK(detail::decode(block, true, reading) == Status::kDone);
  CHECK(reading.count == kMaxCounters);
}

TEST_CASE("a_sampler_brings_new_figures_and_ends_at_once") {
  dsfabric::Fabric fabric = support::alone();
  CHECK(support::error_text([&] {
          Sampler(fabric, std::chrono::nanoseconds(0));
        }).find("not positive") != std::string::npos);
  CHECK(support::error_text([&] {
          Sampler(fabric, std::chrono::nanoseconds::max());
        }).find("longer than a year") != std::string::npos);
  Watcher watcher(fabric);
  Board board(fabric);
  Counter mine = board.counter("mine");
  Reading reading;
  CHECK(watcher.read(fabric.process(), reading, Scheme::kRdmaAsync) == Status::kNoSample);
  {
    const Sampler sampler(fabric, std::chrono::milliseconds(1));
    mine.set(77);
    CHECK(support::eventually([&] {
      return watcher.read(fabric.process(), reading, Scheme::kRdmaAsync) == Status::kDone &&
             reading.values[0] == 77;
    }));
  }
  const auto begin = std::chrono::steady_clock::now();
  { const Sampler sampler(fabric, std::chrono::hours(1)); }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("the_example_of_the_readme_runs") {
  dsfabric::Fabric fabric = support::alone();
  const dsfabric::ProcessId process = fabric.process();
  std::uint64_t seen = 0;
  const auto use = [&](std::uint64_t value) { seen += value; };

  monitoring::Board board(fabric);
  monitoring::Counter requests = board.counter("requests");
  requests.add();  // any thread, in the course of the work

  monitoring::Watcher watcher(fabric);  // in any process
  monitoring::Reading reading;
  if (watcher.read(process, reading) == monitoring::Status::kDone) use(reading.values[0]);

  CHECK(seen == 1);
}
