// SPDX-License-Identifier: MIT
// N-CoSED: three processes lock in mixed modes, some die at any step, the home repairs the queue.
/* The subject: Ncosed (apps/locks/src/ncosed.cpp), Keeper's rounds and rebuild_queue.
   - Each process locks ROUNDS times (from number ONCE on: once), exclusively or shared as it
     likes. Each atomic and each write is a step of the model; what is local to a process goes with
     it.
   - A process may die before each of them, as often as DEATHS says. What it has posted has arrived:
     a write that is late is a process that is late, since whoever tells or grants then waits, or is
     done with the place that it wrote to.
   - A mailbox has room for ROOM readers. One beyond them, whom the word counts already, becomes
     exclusive in the same step. A repair of three processes never finds more readers than room.
   - A reader releases by counting in `released`, or takes its count back while there is no tail.
   - The home freezes: no living process is in a Step when the queue is built anew, in one go,
     because nobody else changes words and mailboxes then.
   Checked: a holder is alone, or among readers; after a death inside the lock the next holder is
   told; nobody waits for ever (an invalid end state).

   The mutants, which must fail:
   MUTANT_NO_FREEZE: the home does not wait for the end of steps.
   MUTANT_NO_DRAIN: an exclusive request behind readers takes the lock when it is granted.
   MUTANT_NO_MARK: the home forgets that an exclusive holder died.
   MUTANT_FORGETFUL: it forgets so when the next one, which had taken the mark from the word, died
   while it waited for readers that were told.
   MUTANT_RELEASED: it takes whom an earlier repair has released, and who does not know that yet,
   for one who still passes the lock on.
   MUTANT_NO_WAIT: a holder that finds another tail goes without waiting for its follower.
   MUTANT_LOST_READERS: a holder that leaves the word grants only the readers that have told it.
   MUTANT_ALL_COUNTED: readers beyond the mailbox are waited for like those in it. */
/* spin-check: spin="-DDEATHS=0 -DROUNDS=2" cc="-DSAFETY -DMEMLIM=4000" run="-m99999" expect=pass */
/* spin-check: spin="-DDEATHS=1 -DROUNDS=1" cc="-DSAFETY -DMEMLIM=4000" run="-m99999" expect=pass */
/* spin-check: spin="-DTWO_DIE" cc="-DSAFETY -DCOLLAPSE -DMEMLIM=4000" run="-m99999" expect=pass */
/* spin-check: spin="-DDEATHS=0 -DROUNDS=2 -DROOM=1" cc="-DSAFETY" run="-m99999" expect=pass */
/* spin-check: spin="-DDEATHS=1 -DROUNDS=1 -DROOM=1" cc="-DSAFETY" run="-m99999" expect=pass */
/* spin-check: spin="-DMUTANT_NO_FREEZE" cc="-DSAFETY" expect=fail */
/* spin-check: spin="-DMUTANT_NO_DRAIN" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_NO_MARK" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_FORGETFUL -DTWO_DIE" cc="-DSAFETY" expect=fail */
/* spin-check: spin="-DMUTANT_RELEASED -DTWO_DIE" cc="-DSAFETY" expect=fail */
/* spin-check: spin="-DMUTANT_NO_WAIT" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DMUTANT_LOST_READERS" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DMUTANT_ALL_COUNTED -DDEATHS=0 -DROOM=1" cc="-DSAFETY" expect=fail */

#ifdef TWO_DIE
#define DEATHS 2
#define ROUNDS 2
#define ONCE 2
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef ONCE
#define ONCE 3
#endif

#ifndef ROOM
#define ROOM 2
#endif

#define N 3
#define DIED 4     /* as tail: an exclusive holder that died */
#define BYHOME 5   /* as follower: the home has released this one */
#define NOBODY(t) ((t) == 0 || (t) == DIED)
/* Readers of a count that wait in a mailbox. */
#ifdef MUTANT_ALL_COUNTED
#define IN_MAILBOX(n) (n)
#else
#define IN_MAILBOX(n) ((n) > ROOM -> ROOM : (n))
#endif

/* Phases. */
#define IDLE 0
#define WAITING 1
#define DRAINING 2
#define HELD 3
#define RELEASING 4

/* The words of the lock. */
byte tail, shared_count, released;
/* The places: 1 to N; what others write, and what the owner says. */
byte granted[4];        /* 1: granted, 2: and the owner died */
byte next_follower[4], next_readers[4];
byte readers[12];       /* place * 3 + number */
byte drain[4], phase[4], before[4];
bit reads[4], detached[4], mark[4];

bit frozen, stepping[4], dead[4], ended[4];
byte deaths = DEATHS;
byte handled;           /* deaths that the home has repaired */
bit inside_x[4], inside_s[4];
bit dirty;              /* one died inside, and nobody has been told */

#define DIE atomic { deaths > 0 -> deaths--; dead[me] = true; goto gone }
#define LIVING_X(p) (inside_x[p] && !dead[p])
#define LIVING_S(p) (inside_s[p] && !dead[p])
#define CALM(p) (dead[p] || !stepping[p])

proctype Worker(byte me) {
  byte seen, count, n, k, follower, round;
again:
  if
  :: round == ROUNDS || (me >= ONCE && round == 1) -> goto over
  :: else -> round++
  fi;
  granted[me] = 0;
  if
  :: atomic { !frozen -> stepping[me] = true; reads[me] = false }; goto exclusive
  :: atomic { !frozen -> stepping[me] = true; reads[me] = true }; goto shared_mode
  fi;

exclusive:
  /* The compare-and-swap that succeeds. */
  if
  :: atomic { seen = tail; count = shared_count; tail = me; shared_count = 0;
       before[me] = seen;
       if
       :: NOBODY(seen) -> mark[me] = (seen == DIED); drain[me] = count;
            phase[me] = (count == 0 -> HELD : DRAINING)
       :: else -> drain[me] = IN_MAILBOX(count); phase[me] = WAITING
       fi }
  :: DIE
  fi;
  if
  :: phase[me] == WAITING ->
       if
       :: atomic { next_follower[seen] = me; next_readers[seen] = count }
       :: DIE
       fi
  :: else
  fi;
  stepping[me] = false;
  goto await;

shared_mode:
  if
  :: atomic { seen = tail; count = shared_count; shared_count++;
       if
       :: NOBODY(seen) -> before[me] = seen; mark[me] = (seen == DIED); phase[me] = HELD
       :: !NOBODY(seen) && count < ROOM -> before[me] = seen; phase[me] = WAITING
       :: else -> reads[me] = false
       fi }
  :: DIE
  fi;
  if
  :: !reads[me] -> goto exclusive
  :: else
  fi;
  if
  :: phase[me] == WAITING ->
       if
       :: readers[seen * 3 + count] = me
       :: DIE
       fi
  :: else
  fi;
  stepping[me] = false;

await:
  if
  :: phase[me] == WAITING ->
       if
       :: atomic { granted[me] != 0 -> mark[me] = (granted[me] == 2);
            if
#ifndef MUTANT_NO_DRAIN
            :: !reads[me] && drain[me] > 0 -> phase[me] = DRAINING
#endif
            :: else -> phase[me] = HELD
            fi }
       :: DIE
       fi
  :: else
  fi;
  if
  :: phase[me] == DRAINING ->
       if
       :: atomic { !frozen && released == drain[me] -> released = 0; phase[me] = HELD }
       :: DIE
       fi
  :: else
  fi;

  /* Inside. */
  if
  :: atomic {
       assert(!LIVING_X(1) && !LIVING_X(2) && !LIVING_X(3));
       if
       :: reads[me] -> inside_s[me] = true
       :: else ->
            assert(!LIVING_S(1) && !LIVING_S(2) && !LIVING_S(3));
            inside_x[me] = true
       fi;
       assert(!dirty || mark[me]);
       if
       :: !reads[me] -> dirty = false
       :: else
       fi }
  :: DIE
  fi;
  if
  :: atomic { inside_s[me] = false; inside_x[me] = false }
  :: atomic { deaths > 0 -> deaths--; dead[me] = true; dirty = dirty || !reads[me]; goto gone }
  fi;
  if
  :: !reads[me] -> goto release
  :: else
  fi;
  if
  :: atomic { !frozen -> released++; phase[me] = IDLE }
  :: atomic { !frozen && NOBODY(tail) && shared_count > 0 -> shared_count--; phase[me] = IDLE }
  :: DIE
  fi;
  goto again;

release:
  if
  :: atomic { !frozen -> stepping[me] = true }
  :: DIE
  fi;
  if
  :: next_follower[me] == BYHOME -> goto done
  :: next_follower[me] != 0 && next_follower[me] != BYHOME ->
       atomic { follower = next_follower[me]; n = IN_MAILBOX(next_readers[me]) }
  :: next_follower[me] == 0 && detached[me] -> follower = 0
  :: next_follower[me] == 0 && !detached[me] ->
       if
       :: atomic { tail == me ->
            n = IN_MAILBOX(shared_count); shared_count = n; tail = 0; detached[me] = true;
            follower = 0 }
       :: atomic { tail != me -> phase[me] = RELEASING; stepping[me] = false }
#ifdef MUTANT_NO_WAIT
            phase[me] = IDLE;
            goto again;
#endif
            if
            :: next_follower[me] != 0 -> goto release
            :: DIE
            fi
       :: DIE
       fi
  fi;
#ifndef MUTANT_LOST_READERS
  /* All readers of this place have told it. */
  if
  :: (n > 0 && readers[me * 3] == 0) || (n > 1 && readers[me * 3 + 1] == 0) ->
       atomic { phase[me] = RELEASING; stepping[me] = false };
       if
       :: next_follower[me] == BYHOME ||
          !((n > 0 && readers[me * 3] == 0) || (n > 1 && readers[me * 3 + 1] == 0)) -> goto release
       :: DIE
       fi
  :: else
  fi;
#endif
  k = 0;
  do
  :: k < n ->
       if
       :: atomic { granted[readers[me * 3 + k]] = 1; readers[me * 3 + k] = 0; k++ }
       :: DIE
       fi
  :: else -> break
  od;
  if
  :: follower != 0 ->
       if
       :: granted[follower] = 1
       :: DIE
       fi
  :: else
  fi;
done:
  atomic { next_follower[me] = 0; next_readers[me] = 0; detached[me] = false; phase[me] = IDLE;
    stepping[me] = false; n = 0; k = 0; follower = 0; seen = 0; count = 0 };
  goto again;

gone:
over:
  ended[me] = true
}

/* What the home thinks of each. */
#define QUEUED(p) (!dead[p] && (phase[p] == WAITING && granted[p] == 0 || DRAINS(p)))
#define DRAINS(p) (!dead[p] && !reads[p] && (phase[p] == DRAINING || \
  (phase[p] == WAITING && granted[p] != 0 && drain[p] > 0)))
#define HOLDS(p) (!dead[p] && (phase[p] == HELD || \
  (phase[p] == WAITING && granted[p] != 0 && !DRAINS(p))))
/* Whether q is known to stand behind p. */
#define BEHIND(p, q) (next_follower[p] == q || readers[p * 3] == q || readers[p * 3 + 1] == q || \
  (DRAINS(p) && !DRAINS(q)))

byte first, second, holder, last, group, holding, i, one;
bit lost, others, told;

/* One request of the line, as Queue::build. */
inline place_next(p) {
  if
  :: p == 0
  :: p != 0 && !reads[p] ->
       if
       :: last != 0 -> next_follower[last] = p; next_readers[last] = group; drain[p] = group
       :: else ->
            drain[p] = holding;
            if
            :: phase[p] == WAITING && granted[p] == 0 -> granted[p] = (lost -> 2 : 1)
            :: else
            fi;
            lost = false
       fi;
       last = p; group = 0
  :: p != 0 && reads[p] ->
       if
       :: last != 0 -> assert(group < ROOM); readers[last * 3 + group] = p; group++
       :: else -> granted[p] = (lost -> 2 : 1); holding++
       fi
  fi
}

proctype Home() {
  do
  :: atomic { (dead[1] + dead[2] + dead[3]) > handled -> frozen = true };
#ifndef MUTANT_NO_FREEZE
     CALM(1) && CALM(2) && CALM(3);
#endif
     d_step {
       first = 0; second = 0; holder = 0; last = 0; group = 0; holding = 0; others = false;
       i = 1;
       do
       :: i <= N ->
            if
            :: HOLDS(i) && reads[i] ->
                 holding++;
                 told = told || (phase[i] == WAITING -> granted[i] == 2 : mark[i])
            :: HOLDS(i) && !reads[i] -> holder = i
#ifdef MUTANT_RELEASED
            :: !dead[i] && phase[i] == RELEASING -> others = true
#else
            :: !dead[i] && phase[i] == RELEASING && next_follower[i] != BYHOME -> others = true
#endif
            :: QUEUED(i) ->
                 others = others || DRAINS(i);
                 if
                 :: first == 0 -> first = i
                 :: else -> second = i
                 fi
            :: else
            fi;
            i++
       :: else -> break
       od;
       /* Of two that wait, who is first? The tail is last, unless it is known to be before. */
       if
       :: second != 0 && (BEHIND(second, first) || (tail == first && !BEHIND(first, second))) ->
            one = first; first = second; second = one
       :: else
       fi;
       lost = (tail == DIED) || (tail != 0 && holder == 0 && holding == 0 && !others);
#ifndef MUTANT_FORGETFUL
       lost = lost || told;
#endif
#ifdef MUTANT_NO_MARK
       lost = false;
#endif
       i = 1;
       do
       :: i <= N ->
            next_follower[i] = ((!dead[i] && phase[i] == RELEASING) -> BYHOME : 0);
            next_readers[i] = 0; readers[i * 3] = 0; readers[i * 3 + 1] = 0;
            readers[i * 3 + 2] = 0;
            i++
       :: else -> break
       od;
       last = holder;
       place_next(first);
       place_next(second);
       if
       :: last != 0 -> tail = last; shared_count = group
       :: else -> tail = (lost -> DIED : 0); shared_count = holding
       fi;
       released = 0;
       handled++;
       i = 0; one = 0; first = 0; second = 0; holder = 0; last = 0; group = 0; holding = 0;
       lost = false; others = false; told = false
     };
     frozen = false
  :: ended[1] && ended[2] && ended[3] && (dead[1] + dead[2] + dead[3]) == handled -> break
  od
}

init {
  atomic { run Worker(1); run Worker(2); run Worker(3); run Home() }
}
