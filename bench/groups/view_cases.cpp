// SPDX-License-Identifier: MIT
// How long a change of the view takes: the leader leaves, and joins again; or it dies.
#include <cstdlib>

#include "bench/fabric/launched_job.hpp"
#include "bench/groups/group.hpp"
#include "groups/groups.hpp"

namespace groups_bench {
namespace {

/// An ordered group of the first processes, all of which send a little.
class Views {
 public:
  void make(sst_bench::Node& node, std::uint32_t members) {
    if (node.fabric.process().value >= members) {
      // The door is for all processes of the job.
      outside_.emplace(node.group, options(members), groups::GroupUpcalls{.deliver = ignore});
      return;
    }
    group_.emplace(
        node.group, options(members),
        groups::GroupUpcalls{.deliver = ignore, .view = [this](const groups::View& view) {
                               members_now_ = view.members.size();
                             }});
    pace_.emplace(node.fabric, sst_bench::first_processes(members));
    members_ = members;
    leaves_ = node.fabric.process().value == 0;
    changes_ = 0;
  }
  void reset() {
    pace_.reset();
    group_.reset();
    outside_.reset();
  }

  /// The mean time of a change, from the wish of the leader to the view at the last member.
  double run(bench::Batch& batch) {
    double ns = 0;
    if (group_) {
      while (members_now_ == 0) step();
      ns = batch.time_ns([&] {
        for (std::uint64_t i = 0; i < batch.iterations(); ++i) change();
      });
    }
    batch.channel().barrier();
    return ns / static_cast<double>(2 * batch.iterations());
  }

 private:
  static void ignore(const groups::Delivery&) {}
  static groups::GroupOptions options(std::uint32_t members) {
    return {.members = sst_bench::first_processes(members), .max_message = 16, .name = "views"};
  }
  void step() { pace_->after(group_->progress()); }
  /// One leave and one join of process 0.
  void change() {
    changes_ += 2;
    if (leaves_) group_->leave();
    while (leaves_ && group_->state() != groups::GroupState::kOutside) step();
    if (leaves_) group_->join();
    while (group_->view().id != 1 + changes_) step();
  }

  std::optional<groups::OrderedGroup> group_;
  std::optional<groups::OrderedGroup> outside_;
  std::optional<sst::Pace> pace_;
  std::uint32_t members_ = 0;
  std::size_t members_now_ = 0;
  std::uint64_t changes_ = 0;
  bool leaves_ = false;
};

void add(bench::Suite& suite, const NodePtr& node, std::uint32_t members) {
  const auto views = std::make_shared<Views>();
  const auto run = [=](bench::Batch& batch) { return views->run(batch); };
  suite.add({.name = "view_change",
             .size = members,
             .unit = bench::Unit::kNanoseconds,
             .variants = {{.name = "change", .measure = run, .assist = run, .bar = "<= 50e6"}},
             .prepare = [=, &node](bench::Channel&) { views->make(*node, members); },
             .finish =
                 [=](bench::Channel& channel) {
                   channel.barrier();
                   views->reset();
                 },
             .oversubscribed = true});
}

/// In a job of its own, for a process dies: the part of it that the probe measures.
void add_death(bench::Suite& suite, std::uint32_t members) {
  const auto part = [=](const char* what) {
    return [=](bench::Batch& batch) {
      const std::string figure = fabric_bench::run_job(batch, {.processes = members,
                                                               .program = "bench/death_probe",
                                                               .argument = what,
                                                               .with_deaths = true});
      return std::strtod(figure.c_str(), nullptr);
    };
  };
  suite.add({.name = "view_change_by_death",
             .size = members,
             .unit = bench::Unit::kNanoseconds,
             .variants = {{.name = "change", .measure = part("change"), .bar = "<= 50e6"},
                          {.name = "detection", .measure = part("detection")}},
             .oversubscribed = true,
             .max_iterations = 1});
}

}  // namespace

void add_view_cases(bench::Suite& suite, const NodePtr& node) {
  add(suite, node, 3);
  add(suite, node, 8);
  add_death(suite, 3);
  add_death(suite, 8);
}

}  // namespace groups_bench
