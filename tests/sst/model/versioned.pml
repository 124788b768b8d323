// SPDX-License-Identifier: MIT
// Versioned: a value of several words in two slots, written by a device in ascending order, or by
// a CPU.
/* The subject: Versioned<T> (versioned.hpp), with two words of value. WRITES stores, of which each
   goes to slot number % 2.
   - As a device places them (default): front, word, word, back. The writer may die anywhere. Each
     push is the next number, however often the owner stored before it.
   - With LOCAL, as the owner stores them into its own row: both marks, the words, back, front; the
     reader is another thread of the owner.
   - With FETCHED, the same stores, and a reader that copies as an RDMA read does: in ascending
     order, or, nondeterministically, in the order of Versioned::read.
   The reader looks LOOKS times. Checked: what it accepts is one write, whole; nothing goes back;
   and once the writer has ended or died, one look is enough.

   The mutants, which must fail:
   MUTANT_ASCENDING: the reader of a row that a device writes looks at `front` first.
   MUTANT_ANY_WHOLE: the newest whole slot is accepted, whatever was seen of a newer write.
   MUTANT_ONE_SLOT: all writes go to one slot.
   MUTANT_SKIPS: pushes have the numbers of the owner's stores, three for each.
   MUTANT_BARE: the owner's stores do not mark the slot first, with FETCHED. */
/* spin-check: cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* spin-check: spin="-DLOCAL" cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* spin-check: spin="-DLOCAL -DFETCHED" cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* spin-check: spin="-DMUTANT_ASCENDING" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_ANY_WHOLE" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_ONE_SLOT" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_SKIPS" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DLOCAL -DFETCHED -DMUTANT_BARE" cc="-DSAFETY" expect=fail error="assertion" */

#define WRITES 4
#define LOOKS 2
#define MARK 16 /* the write in progress: its number + MARK */

typedef Slot { byte front; byte low; byte high; byte back };
Slot slots[2];
bool ended;

#ifdef MUTANT_ONE_SLOT
#define SLOT(n) 0
#else
#define SLOT(n) ((n) % 2)
#endif

#ifdef MUTANT_SKIPS
#define STEP 3
#else
#define STEP 1
#endif

active proctype writer() {
  byte n = 0;
  do
  :: n < WRITES * STEP ->
     n = n + STEP;
#ifdef LOCAL
#ifndef MUTANT_BARE
     slots[SLOT(n)].front = n + MARK;
     slots[SLOT(n)].back = n + MARK;
#endif
     slots[SLOT(n)].low = n;
     slots[SLOT(n)].high = n;
     slots[SLOT(n)].back = n;
     slots[SLOT(n)].front = n
#else
     /* It may die between any two stores. */
     if :: slots[SLOT(n)].front = n :: break fi;
     if :: slots[SLOT(n)].low = n :: break fi;
     if :: slots[SLOT(n)].high = n :: break fi;
     if :: slots[SLOT(n)].back = n :: break fi
#endif
  :: else -> break
  od;
  ended = true
}

#define NUMBER(version) ((version) >= MARK -> (version) - MARK : (version))

inline read_descending(s) {
  back = slots[s].back;
  high = slots[s].high;
  low = slots[s].low;
  front = slots[s].front
}
inline read_ascending(s) {
  front = slots[s].front;
  low = slots[s].low;
  high = slots[s].high;
  back = slots[s].back
}

active proctype reader() {
  byte looks, last, s, front, low, high, back, seen, number, value_low, value_high;
  bool whole, quiet, accepted;
  do
  :: looks < LOOKS ->
     looks++;
     quiet = ended;
     seen = 0; number = 0; whole = false; s = 0;
     do
     :: s < 2 ->
#ifdef MUTANT_ASCENDING
        read_ascending(s);
#else
#ifdef FETCHED
        if
        :: read_ascending(s)
        :: read_descending(s)
        fi;
#else
        read_descending(s);
#endif
#endif
        d_step {
          seen = (NUMBER(front) > seen -> NUMBER(front) : seen);
          seen = (NUMBER(back) > seen -> NUMBER(back) : seen);
          if
          :: front == back && front < MARK && (!whole || front > number) ->
             whole = true; number = front; value_low = low; value_high = high
          :: else
          fi;
          s++
        }
     :: else -> break
     od;
#ifdef MUTANT_ANY_WHOLE
     accepted = whole;
#else
     accepted = whole && number + 1 >= seen;
#endif
     if
     :: accepted ->
        assert(value_low == number && value_high == number);
        assert(number >= last);
        last = number
     :: else -> assert(!quiet)
     fi
  :: else -> break
  od
}
