// SPDX-License-Identifier: MIT
// Wrong on purpose: a field that crosses a cache line does not arrive at once.
#include "sst/row.hpp"

struct Vector {
  double x, y, z;
};
struct Row {
  double load[6];
  Vector speed;
};
static_assert(sst::RowType<Row>);
// expected: crosses a cache line
// expected: row.Row::speed
