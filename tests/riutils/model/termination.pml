// SPDX-License-Identifier: MIT
// Model of wait_for_termination: two waves of counting while calls make calls and fibers wait.

/* spin-check: cc="-DSAFETY -DMEMLIM=4000" run="-m100000" expect=pass */
/* spin-check: spin="-DSINGLE_WAVE" cc="-DSAFETY" run="-m100000" expect=fail error="assertion" */
/* spin-check: spin="-DFIBERS_FIRST" cc="-DSAFETY" run="-m100000" expect=fail error="assertion" */
/* spin-check: spin="-DNO_FIBERS" cc="-DSAFETY" run="-m100000" expect=fail error="assertion" */

#define WORKERS 3
#ifndef CALLS
#define CALLS 4      /* in all: those at the start, and those that calls make */
#endif

byte left = CALLS;          /* calls that may still be made */
byte in_flight[WORKERS];    /* sent to this worker, and not yet run */
byte issued[WORKERS];
byte executed[WORKERS];     /* as a receiver counts: also calls whose fiber waits */
byte unfinished[WORKERS];   /* fibers that wait */
byte running;               /* handlers that are between two steps */
bit over;                   /* the waves are through */

/* Counted before it is sent. To whom: anybody. */
inline issue(me) {
  if
  :: left > 0 ->
     atomic { left > 0 -> left--; issued[me]++ };
     if
     :: in_flight[0]++
     :: in_flight[1]++
     :: in_flight[2]++
     fi
  :: true
  fi
}

/* What progress() of a worker does while it waits in the collective: handlers, and fibers. */
proctype Worker(byte me) {
end:
  do
  :: over -> break
  :: atomic { in_flight[me] > 0 && !over -> in_flight[me]--; running++ };
     if
     :: issue(me);
        atomic { executed[me]++; running-- }
     :: issue(me);
        /* FiberPool::suspend, then the receiver, which counts. */
        unfinished[me]++;
        atomic { executed[me]++; running-- }
     fi
  :: atomic { unfinished[me] > 0 && !over -> running++ };
     issue(me);
     atomic { unfinished[me]--; running-- }
  od
}

/* One wave: the counters of all workers, one after the other, while the workers go on. */
byte sum_issued, sum_executed, now_unfinished;

inline wave() {
  sum_issued = 0; sum_executed = 0; i = 0;
  do
  :: i == WORKERS -> break
  :: else ->
#ifdef FIBERS_FIRST
     now_unfinished = unfinished[i];
     sum_executed = sum_executed + executed[i];
#else
     sum_executed = sum_executed + executed[i];
     now_unfinished = unfinished[i];
#endif
#ifndef NO_FIBERS
     sum_executed = sum_executed - now_unfinished;
#endif
     sum_issued = sum_issued + issued[i];
     i++
  od
}

active proctype Waves() {
  byte i, before;
  /* What the programs called before they came to the collective. */
  atomic {
    do
    :: left > 1 -> left--; issued[0]++; in_flight[1]++
    :: break
    od;
    run Worker(0); run Worker(1); run Worker(2)
  };
  wave();
  do
  :: true ->
#ifdef SINGLE_WAVE
     if
     :: sum_issued == sum_executed -> break
     :: else
     fi;
     wave()
#else
     before = sum_executed;
     wave();
     if
     :: sum_issued == before -> break
     :: else
     fi
#endif
  od;
  atomic {
    assert(running == 0 && in_flight[0] + in_flight[1] + in_flight[2] == 0);
    assert(unfinished[0] + unfinished[1] + unfinished[2] == 0);
    over = 1
  }
}
