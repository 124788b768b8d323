// SPDX-License-Identifier: MIT
// The shared state table: each process writes its own row and sees all rows; predicates and
// triggers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "dsfabric/thread.hpp"
#include "sst/columns.hpp"
#include "sst/detail/table_core.hpp"
#include "sst/predicates.hpp"
#include "sst/snapshot.hpp"
#include "sst/when.hpp"

namespace sst {

/// A copy of every member's row at every member, and predicates over them (the SST paper).
///
///     struct Row { std::uint64_t count; };
///     sst::Table<Row> table{space};
///     table.when([](const auto& t) { return t.min(&Row::count) >= t.mine(&Row::count); })
///          .recurrent([](auto& t) { t.set(&Row::count, t.mine(&Row::count) + 1); });
///     self.add_hook(table.hook());          // evaluated in progress() of this worker; or a
///     PollingThread
///
/// What is promised:
///  1. A field, or an element of an array, is seen as it was written, never in part.
///  2. SST-writes: of one member, nobody sees a later push without the earlier ones, if one thread
///     pushes or the pushes of several are ordered by their program. It rests on this: a process
///     pushes to a member over one queue pair, whose writes are placed in the order of their posts;
///     and readers load by acquire. The fields of one push(), of the whole row, become visible in
///     any order, except that they are in ascending order of address where bytes_in_order() says so
///     (what the devices answer to ibv_query_qp_data_in_order(3)).
///     SST-reads: nothing is promised across fields.
///  3. A reader never sees a field older than it has seen it before.
///  4. The row of a member that failed does not change any more, from its upcall on.
///
/// There is no order between members: two may see the pushes of two others in different orders.
///
/// Threads: one thread at a time evaluates (`evaluate`, `hook`, a PollingThread); predicates and
/// triggers run on it. Any thread reads. Any thread sets and pushes, within
/// TableGroupOptions::threads; each field by one thread at a time, where a push of the whole row is
/// one of each field. The rest is for the thread that made the table.
template <RowType Row>
class Table : public Columns<Table<Row>, Row> {
 public:
  /// Made by all members (a collective among them); every row is there when it returns, as its
  /// owner gave it by `initial`. Throws PeerFailed when a member fails meanwhile, Error when one
  /// does not come, or there is no memory. Any thread, also inside run(), also in a trigger; in one
  /// process one after the other. `kept` is memory that the members reach as they reach rows, by
  /// the same connections: it lives as long as the table, and then until no member uses it any
  /// more. Setup only.
  explicit Table(TableGroup& group, TableOptions options = {}, const Row& initial = Row{},
                 dtutils::RDMAMemory kept = {})
      : core_(group, std::move(options), shape(), &initial, std::move(kept)) {
    if (kKeepsPushed && core_.options().mode == Mode::kWrites) {
      pushed_ = std::make_unique<Row>(initial);
    }
  }
  /// A new table from an old one, for other members or with another type of row: in the same
  /// TableGroup and mode, under the same name. The new row of this process is what `convert` makes
  /// of its old one. The old table and its predicates live on until it is destroyed. As above.
  template <RowType OldRow, class Convert>
  Table(const Table<OldRow>& old, std::vector<dsfabric::ProcessId> members, Convert convert)
      : Table(old.group(), {std::move(members), old.options().mode, old.options().name},
              convert(old.my_row())) {}
  /// Whether the process `by` is making such a table, and this process has not: then it is made
  /// without waiting long. `options` names all members. The thread that makes tables.
  static bool is_offered(const TableGroup& group, const TableOptions& options,
                         dsfabric::ProcessId by) noexcept {
    return detail::TableCore::is_offered(group, options, shape(), by);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// The TableGroup of the table. Any thread, wait-free.
  TableGroup& group() const noexcept { return core_.group(); }
  /// With all members filled in. Any thread, wait-free.
  const TableOptions& options() const noexcept { return core_.options(); }
  /// Number of rows. Any thread, wait-free.
  std::size_t size() const noexcept { return core_.size(); }
  /// The row of this process. Any thread, wait-free.
  MemberId self() const noexcept { return core_.self(); }
  /// The process that writes the row. Any thread, wait-free.
  dsfabric::ProcessId process(MemberId member) const noexcept {
    return options().members[member.value];
  }
  /// The row of a process; empty when it is no member. Any thread, wait-free.
  std::optional<MemberId> find(dsfabric::ProcessId process) const noexcept {
    return core_.find(process);
  }
  /// See promise 2. Any thread, wait-free.
  bool bytes_in_order() const noexcept { return group().bytes_in_order(); }

  // --- the row of this process -----------------------------------------------------------------
  /// Stores and pushes. Wait-free as far as posts are; it waits only when the send queue is full.
  template <class F>
  requires(!std::is_array_v<F>)
  void set(F Row::*field, const detail::Value<F>& value) noexcept {
    store(field, value);
    push(field);
  }
  /// Stores and pushes one element of an array. Any thread, as TableGroupOptions::threads allows.
  template <class Array, class V>
  void set(Array Row::*array, std::size_t index, const V& value) noexcept {
    store(array, index, value);
    push(array, index);
  }
  /// Only stores; others see it with the next push of it (SST-reads: with their next refresh).
  template <class F>
  requires(!std::is_array_v<F>)
  void store(F Row::*field, const detail::Value<F>& value) noexcept {
    detail::store_field(own().*field, value);
  }
  /// Only stores one element of an array.
  template <class Array, class V>
  void store(Array Row::*array, std::size_t index, const V& value) noexcept {
    auto& element = (own().*array)[index];
    detail::store_field(element,
                        static_cast<detail::Value<std::decay_t<decltype(element)>>>(value));
  }
  /// Sends one field, several in the given order, an element, or the whole row to all members; all
  /// is posted before any of it is waited for. SST-reads: does nothing.
  template <class... F>
  requires(sizeof...(F) >= 1)
  void push(F Row::*... fields) noexcept {
    (push_one(own().*fields), ...);
  }
  /// Sends one element of an array to all members.
  template <class Array>
  void push(Array Row::*array, std::size_t index) noexcept {
    push_one((own().*array)[index]);
  }
  /// Sends one element of an array to one other member; the rest see it with a later push of it.
  /// What that member sees is in order with all other pushes to it.
  template <class Array>
  void push_to(MemberId member, Array Row::*array, std::size_t index) noexcept {
    auto& element = (own().*array)[index];
    static_assert(!detail::IsVersioned<std::decay_t<decltype(element)>>::value,
                  "cariama: a Versioned is pushed to all members, for its copies are numbered");
    if (core_.options().mode != Mode::kWrites) return;
    core_.push_to(member, offset_of(element), sizeof element);
  }
  /// Sends the whole row to all members. SST-reads: does nothing.
  void push() noexcept {
    if (core_.options().mode != Mode::kWrites) return;
    if constexpr (kKeepsPushed) {
      detail::store_pushed_row(*pushed_, cells(self()));
      core_.push(reinterpret_cast<std::byte*>(pushed_.get()), 0, sizeof(Row));
    } else {
      core_.push(core_.row(self()), 0, sizeof(Row));
    }
  }

  // --- what was read --------------------------------------------------------------------------
  /// The paper's get_snapshot. Any thread; allocates.
  Snapshot<Row> snapshot() const {
    Snapshot<Row> copy(size(), self());
    for (std::uint16_t i = 0; i < size(); ++i) detail::copy_whole_row(copy.cells({i}), cells({i}));
    return copy;
  }
  /// A copy of the row of this process. Any thread.
  Row my_row() const noexcept {
    Row row{};
    detail::copy_whole_row(row, cells(self()));
    return row;
  }
  /// For Columns: the memory of a row, which changes at any time. Read it by `get`.
  const Row& cells(MemberId member) const noexcept {
    return *std::launder(reinterpret_cast<const Row*>(core_.row(member)));
  }

  // --- predicates -----------------------------------------------------------------------------
  /// `when(predicate).recurrent(triggers...)`, or `.once`, `.on_transition`. Any thread, also in a
  /// trigger; allocates.
  template <class Predicate>
  When<Table, Predicate> when(Predicate predicate) {
    return {predicates_, std::move(predicate)};
  }
  /// `when_grows(value, handled).deliver(trigger)`: see WhenGrows.
  template <class Expression, class V>
  WhenGrows<Table, Expression, V> when_grows(Expression value, V handled) {
    return {predicates_, std::move(value), handled};
  }
  /// Removes a predicate: at once in a trigger, else before the end of the next evaluation. Any
  /// thread.
  void remove(PredicateId id) { predicates_.remove(id); }

  /// Tells of failures, refreshes (SST-reads, unless another thread does), evaluates every
  /// predicate once. True when a trigger ran or rows arrived. One thread at a time.
  bool evaluate() {
    if (core_.failures_are_new()) [[unlikely]] {
      core_.tell_failures();
    }
    if (refreshes_) core_.refresh(refresh_pace_);
    return predicates_.evaluate(*this);
  }
  /// Evaluation as work of progress(): `self.add_hook(table.hook())`.
  dsfabric::ProgressHook hook() noexcept {
    return {[](void* table) { return static_cast<Table*>(table)->evaluate(); }, this};
  }

  // --- SST-reads ------------------------------------------------------------------------------
  /// Least time from one refresh to the next; 0: as often as can be. Setup only.
  void set_pace(std::chrono::nanoseconds pace) noexcept { refresh_pace_ = pace; }
  /// Takes refreshing out of evaluate(), for a PollingThread of its own. Setup only.
  dsfabric::ProgressHook refresh_hook() noexcept {
    refreshes_ = false;
    return {[](void* table) {
              auto& self = *static_cast<Table*>(table);
              return self.core_.refresh(self.refresh_pace_);
            },
            this};
  }

  // --- failures -------------------------------------------------------------------------------
  /// `upcall` runs once for each member that fails, on the evaluating thread, in evaluate(); at
  /// once for members that failed before. Before the evaluation begins, or on that thread.
  void on_failure(FailureUpcall upcall) { core_.on_failure(std::move(upcall)); }
  /// The member failed, as this process believes, and was cut off, or it left: its row changes no
  /// more, here. Any thread, wait-free.
  bool frozen(MemberId member) const noexcept { return core_.frozen(member); }

 private:
  static constexpr std::uint64_t digest() noexcept {
    return detail::digest<Row>(std::make_index_sequence<detail::kFields<Row>>());
  }
  static constexpr detail::TableCore::Shape shape() noexcept {
    return {sizeof(Row), kStride<Row>, digest(), &Table::copy};
  }
  static void copy(void* to, const void* from) noexcept {
    // What cannot be read stays for the next refresh.
    (void)detail::copy_row(*static_cast<Row*>(to), *static_cast<const Row*>(from));
  }
  Row& own() noexcept { return *std::launder(reinterpret_cast<Row*>(core_.row(self()))); }

  /// Where a field or element of its own row lies in it.
  template <class F>
  std::size_t offset_of(const F& field) const noexcept {
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&field) - core_.row(self()));
  }

  template <class F>
  void push_one(F& field) noexcept {
    if (core_.options().mode != Mode::kWrites) return;
    const std::size_t offset = offset_of(field);
    if constexpr (detail::IsVersioned<detail::Element<F>>::value) {
      std::byte* const row = reinterpret_cast<std::byte*>(pushed_.get());
      F& pushed = *std::launder(reinterpret_cast<F*>(row + offset));
      if constexpr (detail::IsVersioned<F>::value) {
        const std::size_t slot = pushed.store(field.load());
        core_.push(row, offset + slot * kLine, kLine);
      } else {
        detail::store_pushed(pushed, field);
        core_.push(row, offset, sizeof(F));
      }
    } else {
      core_.push(core_.row(self()), offset, sizeof(F));
    }
  }

  detail::TableCore core_;
  /// SST-writes, rows with a Versioned: this row as the other members have it, if all that was
  /// pushed has arrived. So each push into a Versioned of theirs is its next write.
  static constexpr bool kKeepsPushed =
      detail::has_versioned<Row>(std::make_index_sequence<detail::kFields<Row>>());
  std::unique_ptr<Row> pushed_;
  bool refreshes_ = core_.options().mode == Mode::kReads;
  std::chrono::nanoseconds refresh_pace_{0};
  Predicates<Table> predicates_;
};

}  // namespace sst
