// SPDX-License-Identifier: MIT
// The order by turns: null messages, stability, and what survivors of a death have.
/* The subject: TurnOrder and MulticastCore with kByTurns. M members, of which the first K (two, or
   with THREE three) send EACH messages, or none, whenever they like, into rings of W slots. What a
   sender has sent comes to each other member in its order, at any later moment; a member sees the
   counters of another as they were at some moment, never older than before. A member takes turns by
   nulls where they are due, counts what has come without a gap, and delivers what all have received
   by the counters that it sees.
   - Default: nobody dies. All messages are delivered everywhere.
   - With DEATH, one member, whoever, dies at any moment. Others learn of it later, send no more,
     and end at some time.
   Checked: the n-th message that a member delivers is the n-th of every other; what anybody
   delivers has come to all members, dead or alive; nobody sends nulls without end; nothing stalls.

   The mutants, which must fail:
   MUTANT_NO_NULLS: nobody takes turns by nulls.
   MUTANT_NULLS_FOR_NULLS: turns are due not only before what has come, but behind it, too.
   MUTANT_SKIPS: a turn that has not come is passed over.
   MUTANT_UNSTABLE: a message is delivered when this member has received it.
   MUTANT_BELIEVES: a member that is believed dead is not waited for.
   MUTANT_KEEPS: a sender gives no slot of a null back. */
/* spin-check: cc="-DSAFETY -DMEMLIM=6000 -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DTHREE" cc="-DSAFETY -DMEMLIM=6000 -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DDEATH" cc="-DSAFETY -DMEMLIM=6000 -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DMUTANT_NO_NULLS" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DMUTANT_NULLS_FOR_NULLS" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_SKIPS" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_UNSTABLE" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DDEATH -DMUTANT_BELIEVES" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_KEEPS" cc="-DSAFETY" expect=fail error="invalid end" */

#ifdef THREE
#define K 3
#define EACH 1
#else
#define K 2
#ifdef DEATH
#define EACH 1
#else
#define EACH 2
#endif
#endif
#define M 3
#define W 2
/* Turns that a sender takes at most: its messages, and one null for each message of the others. */
#define TURNS (K * EACH + 1)
#define NOBODY M

typedef Counts { byte by[M] };
Counts turns[M];     /* turns[m].by[s]: turns of sender s that have come to m */
byte received[M];    /* positions that have come to m without a gap */
Counts seen[M];      /* seen[m].by[x]: received[x] as m sees it */
byte position[M];    /* the next one that m delivers */
byte wanted[M];      /* messages that each still has to send */
byte all;            /* messages of all together */
bool null[K * TURNS]; /* by position: a null took the turn */
byte order[K * EACH + 1]; /* the n-th message delivered: its position, plus 1 */
byte delivered[M];   /* messages */
byte dead = NOBODY;
bool knows[M];       /* of the death */

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))

/* Of sender s, what m is done with; and whether sender m has a slot. */
#define DONE(m, s) ((position[m] + K - 1 - (s)) / K)
#ifdef MUTANT_KEEPS
#define ROOM(m) (turns[m].by[m] < W)
#else
#define ROOM(m) (turns[m].by[m] - MIN(DONE(0, m), MIN(DONE(1, m), DONE(2, m))) < W)
#endif

/* Turns that m must have taken, for what has come from o; and for all that has come. */
#ifdef MUTANT_NULLS_FOR_NULLS
#define BEHIND(m, o) ((m) < (o) -> -1 : 0)
#else
#define BEHIND(m, o) ((m) < (o) -> 0 : 1)
#endif
#define DUE_FOR(m, o) \
  ((o) < K && (o) != (m) && turns[m].by[o] != 0 -> turns[m].by[o] - BEHIND(m, o) : 0)
#define DUE(m) MAX(DUE_FOR(m, 0), MAX(DUE_FOR(m, 1), DUE_FOR(m, 2)))

/* The least that all members have received, as m sees it. */
#ifdef MUTANT_BELIEVES
#define SEEN(m, x) (knows[m] && dead == (x) -> 255 : seen[m].by[x])
#else
#define SEEN(m, x) seen[m].by[x]
#endif
#ifdef MUTANT_UNSTABLE
#define STABLE(m) received[m]
#else
#define STABLE(m) MIN(SEEN(m, 0), MIN(SEEN(m, 1), SEEN(m, 2)))
#endif

/* For the member m that runs it: a turn of sender s has come. */
inline come(s) {
  turns[m].by[s] = turns[m].by[s] + 1;
  i = 0;
  j = 0;
  do
  :: j < turns[m].by[i] ->
     i++;
     if
     :: i == K -> i = 0; j++
     :: else
     fi
  :: else -> break
  od;
  received[m] = j * K + i;
  seen[m].by[m] = received[m]
}

inline take_turn(is_null) {
  assert(turns[m].by[m] < TURNS);
  null[turns[m].by[m] * K + m] = is_null;
  come(m)
}

inline deliver() {
#ifndef MUTANT_SKIPS
  assert(received[0] > position[m] && received[1] > position[m] && received[2] > position[m]);
#endif
  if
  :: null[position[m]]
  :: else ->
     if
     :: order[delivered[m]] == 0 -> order[delivered[m]] = position[m] + 1
     :: else -> assert(order[delivered[m]] == position[m] + 1)
     fi;
     delivered[m] = delivered[m] + 1
  fi;
  position[m] = position[m] + 1
}

proctype member(byte m) {
  byte i, j;
  do
  /* It sends. */
  :: atomic { m < K && wanted[m] != 0 && !knows[m] && ROOM(m) ->
       wanted[m] = wanted[m] - 1; take_turn(false) }
#ifndef MUTANT_NO_NULLS
  :: atomic { m < K && !knows[m] && DUE(m) > turns[m].by[m] && ROOM(m) -> take_turn(true) }
#endif
  /* A turn of another comes, or a counter. */
  :: atomic { turns[m].by[0] < turns[0].by[0] -> come(0) }
  :: atomic { turns[m].by[1] < turns[1].by[1] -> come(1) }
#if K > 2
  :: atomic { turns[m].by[2] < turns[2].by[2] -> come(2) }
#endif
  :: atomic { seen[m].by[0] < received[0] -> seen[m].by[0] = received[0] }
  :: atomic { seen[m].by[1] < received[1] -> seen[m].by[1] = received[1] }
  :: atomic { seen[m].by[2] < received[2] -> seen[m].by[2] = received[2] }
  :: atomic { position[m] < STABLE(m) -> deliver() }
#ifdef MUTANT_SKIPS
  :: atomic { turns[m].by[position[m] % K] <= position[m] / K &&
              turns[m].by[(position[m] + 1) % K] > (position[m] + 1) / K ->
       position[m] = position[m] + 1; deliver() }
#endif
  :: delivered[m] == all -> break
#ifdef DEATH
  :: atomic { dead == NOBODY -> dead = m; break }
  :: atomic { dead != NOBODY && !knows[m] -> knows[m] = true }
  :: knows[m] -> break
#endif
  od
}

init {
  byte s;
  atomic {
    do
    :: s < K ->
       if
       :: wanted[s] = EACH
       :: wanted[s] = 0
       fi;
       all = all + wanted[s];
       s++
    :: else -> break
    od;
    run member(0);
    run member(1);
    run member(2)
  }
}
