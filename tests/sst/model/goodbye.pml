// SPDX-License-Identifier: MIT
// Goodbyes of a TableGroup: an orderly end is no failure, and a queue pair that breaks is one.
/* Two processes, each with a queue pair to the other one for its tables, and one of the fabric's,
   which lives (TableGroup, table_links.cpp). A process pushes, and may end its TableGroup: it posts
   a goodbye, waits until that has been completed, and then destroys its queue pair. A request to a
   queue pair that is broken or destroyed breaks the one that it was posted on. The failure
   detector's thread looks at the state of the queue pair first, and then whether the other one has
   said goodbye. Who calls the other one failed tells it by the fabric. (A goodbye that is given up
   after kFlushTimeout is a break like any other.)

   FAULTS queue pairs break, or fewer, between any two steps.

   Checked: without a fault nobody calls anybody failed; and when nothing can happen any more, a
   process whose push was lost, and that has not ended its TableGroup, knows that the other one has
   failed or said goodbye. The mutants, which must fail:
   MUTANT_STATE_LAST: the thread looks at the goodbye before it looks at the state.
   MUTANT_NO_WAIT: the queue pair is destroyed though the goodbye is under way.
   MUTANT_NO_LOOK: nobody looks at these queue pairs. */
/* spin-check: spin="-DFAULTS=0" cc="-DSAFETY" expect=pass */
/* spin-check: spin="-DFAULTS=1" cc="-DSAFETY" expect=pass */
/* spin-check: spin="-DFAULTS=2" cc="-DSAFETY" expect=pass */
/* spin-check: spin="-DFAULTS=0 -DMUTANT_STATE_LAST" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DFAULTS=0 -DMUTANT_NO_WAIT" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DFAULTS=1 -DMUTANT_NO_LOOK" cc="-DSAFETY" expect=fail error="assertion" */

#define PUSHES 2
#define OTHER (1 - me)

mtype = { READY, BROKEN, GONE };

/* By process; all are READY before anybody writes (the second exchange of TableGroup::connect). */
mtype pair[2] = READY;
/* A goodbye that was posted, and has neither arrived nor failed. */
bool under_way[2];
/* The goodbye of the other one is in the memory of this one. */
bool heard[2];
bool lost[2];
bool ended[2];
/* It calls the other one failed. */
bool failed[2];
byte faults;

#define LINKED (pair[me] == READY && pair[OTHER] == READY)

inline break_pair(which) {
  if
  :: pair[which] == READY -> pair[which] = BROKEN
  :: else -> skip
  fi
}

inline call_failed() {
  atomic {
    failed[me] = true;
    break_pair(me);
    /* The fabric's notice: the other one parts too. */
    if
    :: !ended[OTHER] -> failed[OTHER] = true; break_pair(OTHER)
    :: else -> skip
    fi
  }
}

proctype Member(byte me) {
  byte pushes = 0;
  do
  :: pushes < PUSHES ->
     atomic {
       pushes++;
       if
       :: LINKED -> skip
       :: else -> lost[me] = true; break_pair(me)
       fi
     }
  :: break
  od;
  if
  :: true ->
     under_way[me] = true;
#ifndef MUTANT_NO_WAIT
     !under_way[me];
#endif
     atomic { pair[me] = GONE; under_way[me] = false; ended[me] = true }
  :: true  /* It keeps its TableGroup. */
  fi
}

/* Requests are executed in the order of the posts, some time after them. */
proctype Adapter(byte me) {
end:
  do
  :: atomic {
       under_way[me] ->
       if
       :: LINKED -> heard[OTHER] = true
       :: else -> break_pair(me)
       fi;
       under_way[me] = false
     }
  od
}

proctype Detector(byte me) {
end:
  do
#ifdef MUTANT_NO_LOOK
  :: false -> skip
#elif defined(MUTANT_STATE_LAST)
  :: !heard[me] ->
     if
     :: atomic { pair[me] == BROKEN && !failed[me] -> assert(faults > 0); call_failed() }
     :: else -> skip
     fi
#else
  :: pair[me] == BROKEN && !failed[me] && !ended[me] && !heard[me] ->
     if
     :: atomic { !heard[me] -> assert(faults > 0); call_failed() }
     :: else -> skip
     fi
#endif
  od
}

proctype Fault() {
end:
  do
  :: atomic { faults < FAULTS && pair[0] == READY -> faults++; pair[0] = BROKEN }
  :: atomic { faults < FAULTS && pair[1] == READY -> faults++; pair[1] = BROKEN }
  :: break
  od
}

init {
  atomic {
    run Member(0);
    run Member(1);
    run Adapter(0);
    run Adapter(1);
    run Detector(0);
    run Detector(1);
    run Fault()
  }
  timeout;
  assert(!lost[0] || ended[0] || failed[0] || heard[0]);
  assert(!lost[1] || ended[1] || failed[1] || heard[1])
}
