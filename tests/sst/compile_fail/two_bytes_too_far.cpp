// SPDX-License-Identifier: MIT
// Wrong on purpose: eight bytes of which the alignment is only two.
#include "sst/row.hpp"

struct Halves {
  short a, b, c, d;
};
struct Row {
  short step;
  Halves halves;
};
static_assert(sst::RowType<Row>);
// expected: does not lie at a multiple of its size
// expected: row.Row::halves
