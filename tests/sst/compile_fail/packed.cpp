// SPDX-License-Identifier: MIT
// Wrong on purpose: a packed field may lie across words.
#include "sst/row.hpp"

struct __attribute__((packed)) Row {
  char letter;
  double load;
};
static_assert(sst::RowType<Row>);
// expected: is not the address of a variable
