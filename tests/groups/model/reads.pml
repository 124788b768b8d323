// SPDX-License-Identifier: MIT
// Reads without a message: rounds, answers; a member dies, or wakes up after its removal.
/* The subject: ReadRounds. Three members of a view receive and deliver POSITIONS positions of the
   order, at any pace, whoever has sent them. Reads begin at member 0, at any moment, together or
   one after the other: one that is looked at, and one other. One member, the reader or another, is
   suspected by the others at any moment. It may be dead; or it was only stopped, and goes on at any
   later step, not knowing anything: its writes still arrive here, though in truth its connections
   are cut. The others wedge, decide who is removed and the trim, deliver up to it, and install the
   next view, where the rest of the positions is sent (views.pml holds how).
   A row that arrives late is a step that is taken late: nothing is ever taken back.
   Checked: when a read runs, its member has delivered all that anybody had delivered, dead or
   alive, when it began; a read that began at a removed member, after its removal was decided, never
   runs; each read at a member that goes on runs some time (no invalid end state).

   The mutants, which must fail:
   MUTANT_NO_MAJORITY: the reader does not wait for answers.
   MUTANT_ANSWER_WEDGED: who is wedged answers.
   MUTANT_NO_ROUNDS: an answer is good for all reads of the view that come later.
   MUTANT_SHARED_ROUND: a read joins a round that others have been asked for.
   MUTANT_NO_DELIVERY: the read runs before what has been received is delivered.
   MUTANT_NO_REPEAT: a round that was not answered in a view is not asked in the next one.
   WITNESS: a read that needed both views has run; so the search gets as far as that. */
/* spin-check: cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* spin-check: spin="-DMUTANT_NO_MAJORITY" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_ANSWER_WEDGED" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_NO_ROUNDS" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_SHARED_ROUND" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_NO_DELIVERY" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_NO_REPEAT" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DWITNESS" cc="-DSAFETY" expect=fail error="assertion" */

#define M 3
#define READER 0
#ifndef POSITIONS
#define POSITIONS 1      /* with 2 it holds as well, in 8 million states */
#endif

byte suspect;            /* 0 or 1: the third is as the second */
bool dead;
byte view[M];            /* 0, or 1 when it has installed the next one */
bool wedged[M];          /* in view 0; nobody leaves view 1 here */
byte received[M];        /* by its row of view 0 */
byte received_next[M];   /* by its row of view 1, where positions from the trim on are sent */
byte delivered[M];
bool decided;            /* who is removed, and the trim */
byte trim;
bool followed[M];
bool other_read;         /* it has begun; nobody looks when it runs */

/* ReadRounds of the reader, and what it shows in the rows: asked and, by member, seen. */
byte wanted, asked, confirmed, ready, end_of_round;
byte asked_row[2];
byte seen[M];            /* in view 0; in view 1 one other member is left */
byte seen_next;

#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define LOST(m) (dead && (m) == suspect)
/* The two that go on. */
#define FIRST (suspect == 0 -> 1 : 0)
#define SECOND 2
#define STAYS(m) ((m) != suspect)
#define STABLE MIN(received[0], MIN(received[1], received[2]))
#define STABLE_NEXT MIN(received_next[FIRST], received_next[SECOND])
#define MOST_DELIVERED MAX(delivered[0], MAX(delivered[1], delivered[2]))
#define IS_WEDGED(m) (wedged[m] && view[m] == 0)
#define RECEIVED(m) (view[m] == 0 -> received[m] : received_next[m])

/* The round that a majority has seen, the reader included: 2 of 3, or 2 of 2. */
#ifdef MUTANT_NO_MAJORITY
#define SEEN_BY_MAJORITY asked
#elif defined(MUTANT_NO_ROUNDS)
#define ANY_OF(round) ((round) != 0 -> asked : 0)
#define SEEN_BY_MAJORITY \
  (view[READER] == 0 -> ANY_OF(MAX(seen[1], seen[2])) : ANY_OF(seen_next))
#else
#define SEEN_BY_MAJORITY (view[READER] == 0 -> MAX(seen[1], seen[2]) : seen_next)
#endif
#ifdef MUTANT_ANSWER_WEDGED
#define MAY_ANSWER(m) true
#else
#define MAY_ANSWER(m) (!IS_WEDGED(m))
#endif
#ifdef MUTANT_NO_DELIVERY
#define ROUND_IS_DELIVERED true
#else
#define ROUND_IS_DELIVERED (delivered[READER] >= end_of_round)
#endif
#ifdef MUTANT_SHARED_ROUND
#define IS_TAKEN (wanted == ready)
#else
#define IS_TAKEN (wanted == asked)
#endif

inline begin() {
  if
  :: IS_TAKEN -> wanted = wanted + 1
  :: else
  fi
}

inline install() {
  view[m] = 1;
  received_next[m] = trim;
  if
  :: m == READER ->
     confirmed = ready;
#ifndef MUTANT_NO_REPEAT
     asked = ready
#endif
  :: else
  fi
}

proctype member(byte m) {
end:
  do
  /* View 0. */
  :: atomic { !LOST(m) && !wedged[m] && received[m] < POSITIONS -> received[m] = received[m] + 1 }
  :: atomic { !LOST(m) && !followed[m] && delivered[m] < STABLE -> delivered[m] = STABLE }
  :: atomic { m == suspect && !dead -> dead = true; break }
  /* It suspects the suspect, or sees another that is wedged. */
  :: atomic { !LOST(m) && !wedged[m] && (STAYS(m) || wedged[FIRST] || wedged[SECOND]) ->
       wedged[m] = true }
  :: atomic { m == FIRST && !decided && wedged[FIRST] && wedged[SECOND] ->
       decided = true;
       trim = MIN(received[FIRST], received[SECOND]) }
  :: atomic { STAYS(m) && decided && !followed[m] -> followed[m] = true; delivered[m] = trim }
  :: atomic { STAYS(m) && view[m] == 0 && followed[FIRST] && followed[SECOND] -> install() }
  /* View 1. */
  :: atomic { view[m] == 1 && received_next[m] < POSITIONS ->
       received_next[m] = received_next[m] + 1 }
  :: atomic { view[m] == 1 && view[FIRST] == view[SECOND] && delivered[m] < STABLE_NEXT ->
       delivered[m] = STABLE_NEXT }
  /* Reads, in the view that the member is in. */
  :: atomic { m != READER && !LOST(m) && view[m] == 0 && MAY_ANSWER(m) &&
              seen[m] != asked_row[0] -> seen[m] = asked_row[0] }
  :: atomic { m != READER && view[m] == 1 && seen_next != asked_row[1] ->
       seen_next = asked_row[1] }
  :: atomic { m == READER && !LOST(m) && !other_read -> other_read = true; begin() }
  :: atomic { m == READER && !LOST(m) && !IS_WEDGED(m) && asked != wanted ->
       asked = wanted;
       asked_row[view[m]] = asked }
  :: atomic { m == READER && !LOST(m) && !IS_WEDGED(m) && confirmed == ready && asked != ready &&
              SEEN_BY_MAJORITY > ready ->
       confirmed = SEEN_BY_MAJORITY;
       end_of_round = RECEIVED(m) }
  :: atomic { m == READER && !LOST(m) && !IS_WEDGED(m) && confirmed != ready &&
              ROUND_IS_DELIVERED ->
       ready = confirmed;
       end_of_round = 0 }
  od
}

proctype read() {
  byte ticket, before, began;
  bool out;
  atomic {
    if
    :: LOST(READER) -> goto gone
    :: !LOST(READER) ->
       begin();
       ticket = wanted;
       before = MOST_DELIVERED;
       out = decided && !STAYS(READER);
       began = view[READER]
    fi
  }
  atomic {
    if
    :: ready >= ticket ->
       assert(delivered[READER] >= before);
       assert(!out);
#ifdef WITNESS
       assert(began == view[READER])
#endif
    /* Nobody answers it any more. */
    :: LOST(READER) || (decided && !STAYS(READER) && ready < ticket)
    fi
  }
gone:
  skip
}

init {
  atomic {
    select(suspect : 0 .. 1);
    run member(0);
    run member(1);
    run member(2);
    run read()
  }
}
