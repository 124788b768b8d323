// SPDX-License-Identifier: MIT
// A transition predicate over two words that others change while it is evaluated.
/* The subject: Predicates (predicates.hpp), kind kTransition, over two words of other members'
   rows, as the detector of a third member sees them: `a && b`, or with MINIMUM the monotonic
   `min >= v`.

   WRITERS each push to their own word, as a device places them: any interleaving of single stores.
   They set it, clear it, and set it for good (FLIPS times), so the predicate may turn true and
   false at any moment between the two loads of an evaluation.

   Checked:
   - the triggers run when an evaluation found it true and the one before found it false, no more
     and no less (`fired` equals the number of such turns);
   - nothing is lost: once both words are true for good and the detector has evaluated again, the
     predicate is known to be true (`was`), and has fired since it was last seen false;
   - with MINIMUM: values only grow, and ranges handed over have no gap, no overlap, and end at
     the last minimum.

   The mutants, which must fail:
   MUTANT_LATE_WAS: `was` is stored from a second reading of the words, after the trigger.
   LATE_END: the range that is handed over ends at a second reading, `handled` at the first. */
/* spin-check: spin="-DFLIPS=3" cc="-DSAFETY" expect=pass */
/* spin-check: spin="-DFLIPS=2 -DMUTANT_LATE_WAS" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DFLIPS=3 -DMINIMUM" cc="-DSAFETY" expect=pass */
/* spin-check: spin="-DFLIPS=2 -DMINIMUM -DLATE_END" cc="-DSAFETY" expect=fail error="assertion" */

#ifndef FLIPS
#define FLIPS 2
#endif

byte word[2];
byte ended;

#ifdef MINIMUM

/* Counters that grow; the detector hands over (handled, min]. */
proctype writer(byte mine) {
  byte i;
  do
  :: i < FLIPS -> i++; word[mine] = i
  :: else -> break
  od;
  ended++
}

byte handled, delivered_to;

inline read_min(into) {
  byte x, y;
  x = word[0];
  y = word[1];
  into = (x < y -> x : y)
}

active proctype detector() {
  byte reached, last;
  bool all_ended;
  do
  :: all_ended = (ended == 2);
     read_min(reached);
     if
     :: handled < reached ->
        /* The trigger: from handled + 1 to the end of the range. */
#ifdef LATE_END
        read_min(last);
#else
        last = reached;
#endif
        assert(handled + 1 == delivered_to + 1);
        delivered_to = last;
        handled = reached
     :: else
     fi;
     assert(handled == delivered_to);
     if
     :: all_ended -> assert(handled == FLIPS); break
     :: else
     fi
  od
}

#else

proctype writer(byte mine) {
  byte i;
  do
  :: i < FLIPS -> i++; word[mine] = 1; word[mine] = 0
  :: else -> break
  od;
  word[mine] = 1;
  ended++
}

active proctype detector() {
  bool was, holds, before, all_ended, fired_since_false;
  byte fired, turns;
  do
  :: all_ended = (ended == 2);
     /* The predicate: two loads, the second only if the first was true. */
     holds = word[0];
     if
     :: holds -> holds = word[1]
     :: else
     fi;
     /* What must come out of it. */
     if
     :: holds && !before -> turns = (turns + 1) % 8
     :: else
     fi;
     if
     :: !holds -> fired_since_false = false
     :: else
     fi;
     before = holds;
     /* run_alike and settle. */
     if
     :: holds || was ->
        if
        :: holds && !was -> fired = (fired + 1) % 8; fired_since_false = true
        :: else
        fi;
#ifdef MUTANT_LATE_WAS
        was = (word[0] && word[1])
#else
        was = holds
#endif
     :: else
     fi;
     assert(fired == turns);
     assert(!holds || fired_since_false);
     if
     :: all_ended -> assert(was); break
     :: else
     fi
  od
}

#endif

init {
  atomic { run writer(0); run writer(1) }
}
