// SPDX-License-Identifier: MIT
// The checker of histories: it accepts what a map may answer, and nothing else.
#include "hashtable/support/table_history.hpp"
#include "support/catch.hpp"

using support::Linearization;
using support::TableEvent;
using enum hashtable::Operation;
using enum hashtable::Status;

TEST_CASE("a_history_that_a_map_could_have_is_accepted") {
  CHECK(Linearization({{{1, 2, 0, 5, kInsert, kDone}, {3, 4, 0, 5, kFind, kDone}},
                       {{5, 6, 0, 0, kRemove, kDone}, {7, 8, 0, 0, kFind, kMissing}}})
            .exists());
  // Two at once: either order.
  CHECK(Linearization({{{1, 9, 0, 5, kInsert, kDone}}, {{2, 3, 0, 0, kFind, kMissing}}}).exists());
  CHECK(Linearization({{{1, 9, 0, 5, kInsert, kDone}}, {{2, 3, 0, 5, kFind, kDone}}}).exists());
  // One that never returned may have taken place, or not.
  CHECK(Linearization({{{1, TableEvent::kNever, 0, 5, kInsert, kAgain}},
                       {{2, 3, 0, 0, kFind, kMissing}, {4, 5, 0, 5, kFind, kDone}}})
            .exists());
  // Of two exchanges of the same value one is done, and the other one finds what it has written.
  CHECK(Linearization({{{1, 2, 0, 5, kInsertOrAssign, kDone}, {3, 9, 0, 6, kUpdate, kDone, 5}},
                       {{4, 8, 0, 6, kUpdate, kDiffers, 5}, {9, 10, 0, 6, kFind, kDone}}})
            .exists());
  CHECK(Linearization({{{1, 2, 0, 5, kInsertOrAssign, kDone}},
                       {{3, TableEvent::kNever, 0, 6, kUpdate, kAgain, 5}},
                       {{4, 5, 0, 6, kFind, kDone}}})
            .exists());
}

TEST_CASE("a_history_that_no_map_could_have_is_refused") {
  CHECK_FALSE(
      Linearization({{{1, 2, 0, 5, kInsert, kDone}}, {{3, 4, 0, 0, kFind, kMissing}}}).exists());
  CHECK_FALSE(
      Linearization({{{1, 2, 0, 5, kInsert, kDone}}, {{1, 2, 0, 6, kInsert, kDone}}}).exists());
  CHECK_FALSE(Linearization({{{1, 9, 0, 5, kInsert, kDone}},
                             {{2, 3, 0, 5, kFind, kDone}, {4, 5, 0, 0, kFind, kMissing}}})
                  .exists());
  CHECK_FALSE(Linearization(
                  {{{1, TableEvent::kNever, 0, 5, kInsert, kAgain}}, {{2, 3, 0, 6, kFind, kDone}}})
                  .exists());
  const TableEvent first{1, 2, 0, 5, kInsertOrAssign, kDone};
  // Two exchanges of the same value are done.
  CHECK_FALSE(
      Linearization({{first, {3, 9, 0, 6, kUpdate, kDone, 5}}, {{3, 9, 0, 7, kUpdate, kDone, 5}}})
          .exists());
  // One is refused though the value was there all the time.
  CHECK_FALSE(Linearization({{first, {3, 4, 0, 6, kUpdate, kDiffers, 5}}}).exists());
  // One that never returned changes no other value than the one that it expects.
  CHECK_FALSE(Linearization({{first, {4, 5, 0, 6, kFind, kDone}},
                             {{3, TableEvent::kNever, 0, 6, kUpdate, kAgain, 4}}})
                  .exists());
  CHECK_FALSE(Linearization({{first, {3, 4, 0, 0, kFind, kMissing}}}).exists());
}
