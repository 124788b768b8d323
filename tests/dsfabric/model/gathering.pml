// SPDX-License-Identifier: MIT
// Model of the gathering of Rounds: slots go along in growing blocks, each with a word behind it.

/* spin-check: cc="-DSAFETY -DCOLLAPSE -DMEMLIM=6000" run="-m200000" expect=pass */
/* spin-check: spin="-DPLACES=1" cc="-DSAFETY" run="-m200000" expect=fail error="assertion" */
/* spin-check: spin="-DUNORDERED" cc="-DSAFETY" run="-m200000" expect=fail error="assertion" */

#define PROCESSES 4
#define GATHERINGS 3
#ifndef PLACES
#define PLACES 2     /* for what is gathered, and for words: gatherings take them by turns */
#endif

/* Two partners at most in each round (a radix of 2), so that slots are passed on: round 0 brings
   slot 1 from the next process, round 1 slots 2 and 3 from the one after it. Which write is which
   follows from its distance, 1 or 2, and from the process that it goes to. */
#define PLACE(who, count) (who * PLACES + count % PLACES)
#define SLOT(who, count, i) (PLACE(who, count) * PROCESSES + i)
#define WORD(who, count, round) (PLACE(who, count) * 2 + round)
#define POST(to, count, round) ((to * 2 + round) * (GATHERINGS + 1) + count)

byte slot[PROCESSES * PLACES * PROCESSES];  /* in which gathering it was filled */
byte word[PROCESSES * PLACES * 2];
/* Of each write: 0 not posted, 1 posted, 2 its bytes have landed, 3 its word too. Each gathering
   may be acted by another worker, on a queue pair of its own: only a write and its word are in
   order. The device reads the bytes when it sends them. */
byte post[PROCESSES * 2 * (GATHERINGS + 1)];

inline bytes_land(to, count, round) {
  from = (to + 1 + round) % PROCESSES;
  slot[SLOT(to, count, 1 + round)] = slot[SLOT(from, count, 0)];
  if
  :: round == 1 -> slot[SLOT(to, count, 3)] = slot[SLOT(from, count, 1)]
  :: else
  fi
}

inline word_lands(to, count, round) {
  word[WORD(to, count, round)] = count
}

#ifdef UNORDERED
#define FIRST word_lands
#define SECOND bytes_land
#else
#define FIRST bytes_land
#define SECOND word_lands
#endif

/* Each write is an alternative of its own: to choose its numbers first would be many steps for each
   state, most of them to a write that nothing happens to. */
#define WRITE(to, count, round) \
  :: d_step { post[POST(to, count, round)] == 1 -> \
       FIRST(to, count, round); post[POST(to, count, round)] = 2; from = 0 } \
  :: d_step { post[POST(to, count, round)] == 2 -> \
       SECOND(to, count, round); post[POST(to, count, round)] = 3; from = 0 }
#define ROUNDS(to, count) WRITE(to, count, 0) WRITE(to, count, 1)
#define COUNTS(to) ROUNDS(to, 1) ROUNDS(to, 2) ROUNDS(to, 3)

active proctype Device() {
  byte from;
end:
  do
  COUNTS(0) COUNTS(1) COUNTS(2) COUNTS(3)
  od
}

active [PROCESSES] proctype Process() {
  byte self = _pid - 1;
  byte count = 1;
  do
  :: count <= GATHERINGS ->
     slot[SLOT(self, count, 0)] = count;
     post[POST((self + PROCESSES - 1) % PROCESSES, count, 0)] = 1;
     word[WORD(self, count, 0)] >= count;
     post[POST((self + PROCESSES - 2) % PROCESSES, count, 1)] = 1;
     word[WORD(self, count, 1)] >= count;
     /* The workers copy one slot after the other. */
     assert(slot[SLOT(self, count, 1)] == count);
     assert(slot[SLOT(self, count, 2)] == count);
     assert(slot[SLOT(self, count, 3)] == count);
     count++
  :: else -> break
  od
}
