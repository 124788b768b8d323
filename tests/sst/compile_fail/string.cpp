// SPDX-License-Identifier: MIT
// Wrong on purpose: a string keeps its letters elsewhere.
#include <string>

#include "sst/row.hpp"

struct Row {
  int step;
  std::string name;
};
static_assert(sst::RowType<Row>);
// expected: must be plain data
