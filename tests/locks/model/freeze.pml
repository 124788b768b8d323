// SPDX-License-Identifier: MIT
// Calls of a home that repairs its locks, and of one process that it freezes, in any order.
/* The subject: Keeper's rounds and SpaceCore::freeze (apps/locks/src).
   - The home makes REPAIRS repairs. In each round it asks the process to freeze, with those that it
     takes for failed; when it gives up X meanwhile, the round begins again. After the repair it
     tells the process to go on. It does not wait for answers of rounds that it gave up.
   - Two threads of the process serve these calls: they take one, which may be any that is on its
     way, and run it later. A process that is not ready is asked again: the call comes back.
   - A worker of the process makes STEPS steps, each of which posts a write. The device executes
     what was posted at any time.
   - X lives, and writes to the process at any time, until that has cut it off. The failure detector
     does so some time after it was told.
   Checked: while the home repairs, no worker is in a step and nothing that was posted is on its
   way; when the lock of X was passed on, nothing of X arrives; and the worker comes to the end of
   its steps (else an invalid end state).

   The mutants, which must fail:
   MUTANT_NO_STEPS, MUTANT_NO_POSTS, MUTANT_NO_FENCE: the process answers in spite of those.
   MUTANT_LATE_THAW: the end of a repair ends the freeze for the next one.
   MUTANT_LATE_FREEZE: a call of a repair that is over freezes the process.
   MUTANT_DEATHS_MEANWHILE: the home passes on the lock of whom it gave up after the round began. */
/* spin-check: cc="-DSAFETY -DMEMLIM=4000" run="-m100000" expect=pass */
/* spin-check: spin="-DMUTANT_NO_STEPS" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_NO_POSTS" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_NO_FENCE" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_LATE_THAW" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_LATE_FREEZE" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DMUTANT_DEATHS_MEANWHILE" cc="-DSAFETY" expect=fail error="assertion" */

#ifndef REPAIRS
#define REPAIRS 2
#endif
#ifndef STEPS
#define STEPS 2
#endif
/* X is given up once. */
#define ROUNDS (REPAIRS + 1)

/* Calls on their way, by round and by repair; what each round asks. */
bit freezes[ROUNDS + 1], thaws[REPAIRS + 1];
byte repair_of[ROUNDS + 1];
bit with_x[ROUNDS + 1], ready[ROUNDS + 1];
/* The home. */
bit doubts_x, repairs_now, passed_on;
/* The process: the repair that it is frozen for, and the last one that is over. */
byte by, over;
bit stepping, told_of_x, cut_off;
byte posted;

active proctype Home() {
  byte repair = 1, round = 0;
  do
  :: repair <= REPAIRS ->
       atomic { round++; repair_of[round] = repair; with_x[round] = doubts_x; freezes[round] = 1 };
       if
       :: atomic { ready[round] -> repairs_now = 1;
            assert(!stepping && posted == 0);
#ifdef MUTANT_DEATHS_MEANWHILE
            passed_on = passed_on || doubts_x;
#else
            passed_on = passed_on || with_x[round];
#endif
          };
          atomic { repairs_now = 0; thaws[repair] = 1; repair++ }
       :: doubts_x != with_x[round]
       fi
  :: else -> break
  od
}

active proctype Doubts() {
  doubts_x = 1
}

active [2] proctype Server() {
  byte round, repair;
end:
  do
  :: atomic { freezes[1] -> freezes[1] = 0; round = 1 }; goto freeze
  :: atomic { freezes[2] -> freezes[2] = 0; round = 2 }; goto freeze
  :: atomic { freezes[3] -> freezes[3] = 0; round = 3 }; goto freeze
  :: atomic { thaws[1] -> thaws[1] = 0; repair = 1 }; goto thaw
  :: atomic { thaws[2] -> thaws[2] = 0; repair = 2 }; goto thaw
  od;

freeze:
  atomic {
    told_of_x = told_of_x || with_x[round];
    repair = repair_of[round];
    if
#ifndef MUTANT_LATE_FREEZE
    :: repair <= over -> goto done
#endif
    :: else -> by = (by > repair -> by : repair)
    fi
  };
#ifndef MUTANT_NO_FENCE
  if
  :: with_x[round] && !cut_off -> freezes[round] = 1; goto done
  :: else
  fi;
#endif
#ifndef MUTANT_NO_STEPS
  if
  :: stepping -> freezes[round] = 1; goto done
  :: else
  fi;
#endif
#ifndef MUTANT_NO_POSTS
  if
  :: posted != 0 -> freezes[round] = 1; goto done
  :: else
  fi;
#endif
  ready[round] = 1;
  goto done;

thaw:
  atomic {
    over = (over > repair -> over : repair);
    if
#ifdef MUTANT_LATE_THAW
    :: by != 0 -> by = 0
#else
    :: by != 0 && by <= repair -> by = 0
#endif
    :: else
    fi
  };

done:
  atomic { round = 0; repair = 0; goto end }
}

active proctype Worker() {
  byte steps;
  do
  :: steps < STEPS ->
       atomic { by == 0 -> stepping = 1; assert(!repairs_now) };
       atomic { posted++; assert(!repairs_now) };
       atomic { stepping = 0; steps++ }
  :: else -> break
  od
}

active proctype Device() {
end:
  do
  :: atomic { posted > 0 -> posted--; assert(!repairs_now) }
  od
}

active proctype Detector() {
end:
  atomic { told_of_x -> cut_off = 1 }
}

active proctype X() {
end:
  atomic { !cut_off -> assert(!passed_on) }
}
