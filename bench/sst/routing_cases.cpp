// SPDX-License-Identifier: MIT
// How long routers need to agree again after a link has changed (the paper's 5.8 and figure 9).
#include "bench/sst/cases.hpp"
#include "routing/drive.hpp"

namespace sst_bench {
namespace {

using namespace routing;

/// A job of routers in the first `members` processes, in the paper's hub and ring. The hub makes
/// the link to router 1 dearer and cheaper, which all others use.
class Reconverging {
 public:
  void prepare(Node& node, std::uint32_t members) {
    if (node.fabric.process().value >= members) return;
    router_ = std::make_unique<Router>(node.group, hub_and_ring(members), first_processes(members));
    pace_ = std::make_unique<sst::Pace>(node.fabric, router_->processes());
    evaluate_until(
        *router_, *pace_, [&] { return router_->all_settled(); }, "the first routes");
  }
  void finish() {
    router_.reset();
    pace_.reset();
  }
  /// Means over the batch.
  Reconvergence measure(bench::Batch& batch) {
    let_others_fall_asleep();
    Reconvergence sum;
    (void)batch.time_ns([&] {
      for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
        dearer_ = !dearer_;
        const Reconvergence one = reconverge(*router_, *pace_, {1}, dearer_ ? 11 : 10);
        sum.first_ns += one.first_ns;
        sum.all_ns += one.all_ns;
        sum.computing_ns += one.computing_ns;
      }
    });
    const auto count = static_cast<double>(batch.iterations());
    router_->reach(++step_);
    return {sum.first_ns / count, sum.all_ns / count, sum.computing_ns / count};
  }
  void assist() {
    if (!router_) return;
    ++step_;
    evaluate_until(
        *router_, *pace_, [&] { return router_->reached({0}, step_); }, "the end of a batch");
  }

 private:
  std::unique_ptr<Router> router_;
  std::unique_ptr<sst::Pace> pace_;
  std::uint64_t step_ = 0;
  bool dearer_ = false;
};

}  // namespace

void add_routing_cases(bench::Suite& suite, const NodePtr& node) {
  for (const std::uint32_t members : {2, 4, 8, 16}) {
    auto job = std::make_shared<Reconverging>();
    const auto variant = [&](const char* name, double Reconvergence::*figure) {
      return bench::Variant{
          .name = name,
          .measure = [=](bench::Batch& batch) { return job->measure(batch).*figure; },
          .assist = [=](bench::Batch&) { job->assist(); }};
    };
    suite.add({.name = "routing",
               .size = members,
               .variants = {variant("all", &Reconvergence::all_ns),
                            variant("first", &Reconvergence::first_ns),
                            variant("computing", &Reconvergence::computing_ns)},
               .prepare = [=, &node](bench::Channel&) { job->prepare(*node, members); },
               .finish = [=](bench::Channel&) { job->finish(); },
               .oversubscribed = true});
  }
}

}  // namespace sst_bench
