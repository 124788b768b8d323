// SPDX-License-Identifier: MIT
// Who evaluates: a PollingThread's thread, or progress() of a worker.
#include "sst/support/table_job.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

using namespace sst;
using support::CountRow;
using support::ForkJob;
using support::meet;
using support::Member;
using support::require;
using support::TableNode;

namespace {

constexpr std::uint64_t kGoal = 300;

template <class T>
void count_together(T& table, std::atomic<std::uint64_t>& reached) {
  table
      .when([](const auto& t) {
        return t.mine(&CountRow::count) < kGoal &&
               t.min(&CountRow::count) >= t.mine(&CountRow::count);
      })
      .recurrent([&](auto& t) {
        t.set(&CountRow::count, t.mine(&CountRow::count) + 1);
        reached = t.mine(&CountRow::count);
      });
}

}  // namespace

TEST_CASE("a_detector_evaluates_several_tables") {
  ForkJob job(2, [](Member& member) {
    TableNode node(member);
    Table<CountRow> one(node.group), two(node.group);
    std::atomic<std::uint64_t> first{0}, second{0};
    count_together(one, first);
    count_together(two, second);
    PollingThread detector(node.fabric, {one.hook(), two.hook()}, {.core = 0});
    require(support::eventually([&] { return first == kGoal && second == kGoal; }), "both counted");
    meet(member, 0);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("tables_are_evaluated_in_progress_of_a_worker") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    Table<CountRow> table(node.group);
    std::atomic<std::uint64_t> reached{0};
    count_together(table, reached);
    node.fabric.run([&](dsfabric::Thread& self) {
      self.add_hook(table.hook());
      Pace pace(node.fabric);
      while (table.min(&CountRow::count) < kGoal) pace.after(self.progress());
      self.remove_hook(table.hook());
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("what_a_trigger_throws_comes_out_of_stop") {
  ForkJob job(1, [](Member& member) {
    TableNode node(member);
    Table<CountRow> table(node.group);
    std::atomic<bool> thrown{false};
    table.when([](const auto&) { return true; }).recurrent([&](auto&) {
      thrown = true;
      throw std::runtime_error("out of paint");
    });
    PollingThread detector(node.fabric, {table.hook()});
    require(support::eventually([&] { return thrown.load(); }), "it ran");
    std::string text;
    try {
      detector.stop();
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    require(text == "out of paint", "its words");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("what_a_trigger_throws_goes_to_the_upcall_for_exceptions") {
  ForkJob job(1, [](Member& member) {
    TableNode node(member);
    static std::atomic<int> reported{0};
    node.fabric.on_exception([](const dsfabric::CallContext&, std::exception_ptr thrown) {
      try {
        std::rethrow_exception(thrown);
      } catch (const std::runtime_error& error) {
        reported = error.what() == std::string("out of paint") ? 1 : 2;
      }
    });
    Table<CountRow> table(node.group);
    table.when([](const auto&) { return true; }).recurrent([](auto&) {
      throw std::runtime_error("out of paint");
    });
    const PollingThread detector(node.fabric, {table.hook()});
    require(support::eventually([] { return reported != 0; }), "it is reported");
    require(reported == 1, "in its words");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("what_a_trigger_throws_and_nobody_takes_ends_the_process") {
  if (support::skipped_on_sim("it ends the process, which all nodes share")) return;
  ForkJob job(1, [](Member& member) {
    TableNode node(member);
    static std::atomic<bool> thrown{false};
    Table<CountRow> table(node.group);
    table.when([](const auto&) { return true; }).recurrent([](auto&) {
      thrown = true;
      throw std::runtime_error("out of paint");
    });
    const PollingThread detector(node.fabric, {table.hook()});
    require(support::eventually([] { return thrown.load(); }), "it ran");
  });
  CHECK(job.wait() == "0: signal 6\n");
}

TEST_CASE("a_detector_on_a_core_that_is_not_there_is_refused") {
  ForkJob job(1, [](Member& member) {
    TableNode node(member);
    std::string text;
    try {
      const PollingThread detector(node.fabric, {}, {.core = 1000});
    } catch (const dtutils::Error& error) {
      text = error.what();
    }
    require(text.find("core 1000") != std::string::npos, text);
  });
  CHECK(job.wait() == "");
}
