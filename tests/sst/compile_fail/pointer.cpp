// SPDX-License-Identifier: MIT
// Wrong on purpose: an address of this process.
#include "sst/row.hpp"

struct Row {
  int step;
  const char* name;
};
static_assert(sst::RowType<Row>);
// expected: is a pointer, which means nothing in another process
// expected: row.Row::name
