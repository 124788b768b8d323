// SPDX-License-Identifier: MIT
// A shared state table: one member pushes a field, and all others see it.
#include "cases.hpp"
#include "sst/sst.hpp"
#include "together.hpp"

namespace scale {
namespace {

struct Row {
  std::uint64_t count;
};

}  // namespace

std::vector<Point> measure_table(const Cluster& cluster) {
  Together push;
  Together detection;
  run(cluster, [&](dsfabric::Fabric& fabric) {
    sst::TableGroup group(fabric);
    sst::Table<Row> table(group);
    std::uint64_t seen = 0;
    table.when([&](const auto& t) { return t.get({0}, &Row::count) > seen; })
        .recurrent([&](auto& t) { seen = t.get({0}, &Row::count); });
    fabric.run([&](dsfabric::Thread& self) {
      const bool pushes = table.self().value == 0;
      std::uint64_t count = 0;
      const auto set = [&] {
        ++count;
        if (pushes) table.set(&Row::count, count);
      };
      const auto see = [&] {
        dtutils::Backoff backoff;
        while (seen < count) table.evaluate() ? backoff.reset() : backoff.pause();
      };
      for (std::uint32_t i = 0; i <= cluster.repetitions; ++i) {
        push.measure(self, set);
        see();
        detection.measure(self, [&] {
          set();
          see();
        });
      }
    });
  });
  const ClosedForm form(cluster.options.cluster.model, cluster.nodes);
  return {{"sst_push", push.results(), form.push()},
          {"sst_detection", detection.results(), form.detection()}};
}

}  // namespace scale
