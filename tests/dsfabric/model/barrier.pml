// SPDX-License-Identifier: MIT
// Model of the dissemination barrier of Rounds, whose words come by several queue pairs.

/* spin-check: cc="-DSAFETY" run="-m100000" expect=pass */
/* spin-check: spin="-DPROCESSES=3 -DROUNDS=2" cc="-DSAFETY" run="-m100000" expect=pass */
/* spin-check: spin="-DPLACES=1" cc="-DSAFETY" expect=fail error="invalid end state" */
/* spin-check: spin="-DROUNDS=0" cc="-DSAFETY" run="-m100000" expect=fail error="assertion" */

#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef ROUNDS
#define ROUNDS 1     /* of one barrier: the logarithm of PROCESSES, rounded up */
#endif
#ifndef PLACES
#define PLACES 2     /* for the word of a round: barriers take them by turns */
#endif
#define BARRIERS 4

#define PLACE(who, count, round) ((who * PLACES + count % PLACES) * 2 + round)
#define ALL (PROCESSES * PLACES * 2)

byte flag[ALL];      /* ControlLayout::barrier_flag, of every process */
byte entered[PROCESSES];

/* Writes that were posted and have not landed. Those of one queue pair land in their order, but
   each barrier may be acted by another worker, on a queue pair of its own: they land in any. */
chan posted = [PROCESSES * BARRIERS * 2] of { byte, byte };

active proctype Device() {
  byte place, count;
end:
  do
  :: posted??[_, 1] -> atomic { posted??place, 1; flag[place] = 1 }
  :: posted??[_, 2] -> atomic { posted??place, 2; flag[place] = 2 }
  :: posted??[_, 3] -> atomic { posted??place, 3; flag[place] = 3 }
  :: posted??[_, 4] -> atomic { posted??place, 4; flag[place] = 4 }
  od
}

active [PROCESSES] proctype Process() {
  byte self = _pid - 1;
  byte count, round, distance, other;
  do
  :: count == BARRIERS -> break
  :: else ->
     count++;
     entered[self] = count;
     distance = 1;
     round = 0;
     do
     :: round == ROUNDS -> break
     :: else ->
        posted!PLACE(((self + distance) % PROCESSES), count, round), count;
        flag[PLACE(self, count, round)] >= count;
        round++;
        distance = distance * 2
     od;
     /* What a barrier is for: nobody leaves it before all have entered it. */
     atomic {
       other = 0;
       do
       :: other == PROCESSES -> break
       :: else -> assert(entered[other] >= count); other++
       od;
       other = 0
     }
  od
}
