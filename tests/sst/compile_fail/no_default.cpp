// SPDX-License-Identifier: MIT
// Wrong on purpose: a field that nothing but a caller can give a value.
#include "sst/row.hpp"

struct Id {
  explicit Id(int number) : value(number) {}
  int value;
};
struct Row {
  int step;
  Id id;
};
static_assert(sst::RowType<Row>);
// expected: must have a value at first
