// SPDX-License-Identifier: MIT
// Wrong on purpose: one byte more than a row may have, and more fields than can be told apart.
#include "sst/row.hpp"

struct Row {
  char bytes[65537];
};
static_assert(sst::RowType<Row>);
// expected: at most 65536 bytes

struct Many {
  char a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};
static_assert(sst::RowType<Many>);
// expected: at most 16 fields
