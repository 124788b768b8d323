// SPDX-License-Identifier: MIT
// What sst_bench keeps open in each of its processes, and the loops that all cases share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/bench.hpp"
#include "sst/sst.hpp"

namespace sst_bench {

/// All processes make theirs at the same time, in Suite::setup(). Tables are used by the main
/// thread: no worker runs.
struct Node {
  Node(bench::Channel& channel, const std::string& device);

  dsfabric::Fabric fabric;
  /// For one thread.
  sst::TableGroup group;
};
/// Empty until Suite::setup(); in each process its own.
using NodePtr = std::unique_ptr<Node>;

/// Processes 0 to `count` - 1.
std::vector<dsfabric::ProcessId> first_processes(std::uint32_t count);

/// The smallest row, with the field that the paper calls SST[i].a.
struct SmallRow {
  std::uint64_t a;
};

/// A table that lives from `prepare` to `finish` of a case, at its members only.
template <class Row>
class CaseTable {
 public:
  /// A collective of the members; nothing at the others.
  void make(Node& node, const std::vector<dsfabric::ProcessId>& members, sst::Mode mode,
            const Row& initial = Row{}) {
    for (const dsfabric::ProcessId member : members) {
      if (member != node.fabric.process()) continue;
      table_ = std::make_unique<sst::Table<Row>>(
          node.group, sst::TableOptions{.members = members, .mode = mode}, initial);
    }
  }
  void reset() { table_.reset(); }
  explicit operator bool() const noexcept { return table_ != nullptr; }
  sst::Table<Row>& operator*() const noexcept { return *table_; }
  sst::Table<Row>* operator->() const noexcept { return table_.get(); }

 private:
  std::unique_ptr<sst::Table<Row>> table_;
};

/// Call it before the clock starts: many processes leave a barrier at once, and those that have
/// nothing to do in this batch shall be asleep by then.
void let_others_fall_asleep();

/// Evaluates as fast as it can, as a thread with a core of its own does.
template <class Table, class Done>
void spin_until(Table& table, Done done) {
  while (!done()) table.evaluate();
}
/// The same for more members than cores.
template <class Table, class Done>
void evaluate_until(Table& table, Done done) {
  sst::Pace pace(table.group().fabric(), table.options().members);
  while (!done()) pace.after(table.evaluate());
}

}  // namespace sst_bench
