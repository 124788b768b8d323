// SPDX-License-Identifier: MIT
// Wrong on purpose: a field of 16 bytes could be read half written.
#include "sst/row.hpp"

struct Stamp {
  long seconds, nanoseconds;
};
struct Row {
  int step;
  Stamp stamps[2];
};
static_assert(sst::RowType<Row>);
// expected: wrap it in sst::Versioned<>
// expected: row.Row::stamps
