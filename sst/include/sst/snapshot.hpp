// SPDX-License-Identifier: MIT
// A copy of a table that nothing changes any more.
#pragma once

#include <cstddef>
#include <memory>

#include "sst/columns.hpp"

namespace sst {

/// All rows as they were when it was made, each field whole. It has the same questions as a table.
/// It allocates. A trigger that must see one state all along takes one (the paper's get_snapshot,
/// section 4.3). Fields are copied one after the other: of what is pushed meanwhile it may hold any
/// part. Any thread.
template <RowType Row>
class Snapshot : public Columns<Snapshot<Row>, Row> {
 public:
  /// Room for so many rows; Table::snapshot fills it in. Allocates.
  Snapshot(std::size_t size, MemberId self)
      : size_(size), self_(self), cells_(std::make_unique<Cell[]>(size)) {}

  /// Number of rows.
  std::size_t size() const noexcept { return size_; }
  /// The row of this process.
  MemberId self() const noexcept { return self_; }
  /// For Columns: a row, as it was.
  const Row& cells(MemberId member) const noexcept { return cells_[member.value].row; }
  /// For Table: the place where it copies a row.
  Row& cells(MemberId member) noexcept { return cells_[member.value].row; }

 private:
  struct alignas(kLine) Cell {
    Row row;
  };
  std::size_t size_;
  MemberId self_;
  std::unique_ptr<Cell[]> cells_;
};

}  // namespace sst
