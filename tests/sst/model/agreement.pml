// SPDX-License-Identifier: MIT
// Agreement over rows: four members, two deaths at any step, beliefs that are late or wrong.
/* The subject: the rules of AgreementCore (agreement_core.hpp), for SLOTS slots, of which each is
   decided to be a value or the removal of members.

   What one member reads of another's row is any state that the row ever had: pushes may be late for
   as long as one likes, and differ between readers. That is more than the order of pushes allows.
   So the model keeps what was ever in a row: `voted`, `promised` with `shown` (the vote in the row
   when that ballot was promised), and by `slot` the decisions. With LOST nothing more is read of a
   member that is believed gone, else all of it.

   Ballots go round, two of each member; that of the first one is promised from the start. A member
   takes its second one when nothing else can happen, and so not forever.
   DEATHS members die, or fewer, between any two steps; each step is one push.

   Beliefs come at any time after the death. With WRONG so many times a member is also taken for
   gone that lives, by one of the others; then progress is not checked.

   Checked: nobody decides otherwise than anybody else, the dead included; who finds that it was
   left behind was removed; and when nothing can happen any more, all members that live and take
   part have decided all slots, unless they say that there is no quorum.

   SURVIVORS: Quorum::kSurvivors, else kMajority. It rests on right beliefs, and must fail when two
   members take each other for dead. The mutants, which must fail:
   MUTANT_OWN_COPY: a new leader goes by its own vote alone.
   MUTANT_NO_PROMISE: members vote in lower ballots than the one they promised.
   MUTANT_NO_TEACHING: who has decided does not show it.
   MUTANT_HURRY: the next slot does not wait until all know the last decision.

   Two slots with WRONG=1 are a search of 12 million states. */
/* spin-check: spin="-DWRONG=0" cc="-O0 -DSAFETY -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DWRONG=0 -DLOST" cc="-O0 -DSAFETY -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DWRONG=0 -DSURVIVORS" cc="-O0 -DSAFETY -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DWRONG=0 -DSURVIVORS -DLOST" cc="-O0 -DSAFETY -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DWRONG=1 -DSLOTS=1" cc="-O0 -DSAFETY -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DWRONG=2 -DSLOTS=1 -DSURVIVORS" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DWRONG=0 -DMUTANT_OWN_COPY" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DWRONG=1 -DMUTANT_NO_PROMISE" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DWRONG=0 -DMUTANT_NO_TEACHING" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DWRONG=0 -DMUTANT_HURRY" cc="-DSAFETY" expect=fail error="assertion" */

#define N 4
#ifndef SLOTS
#define SLOTS 2
#endif
#define BALLOTS (2 * N)
#ifndef DEATHS
#define DEATHS 2
#endif
#define ALL 15
#define BIT(i) (1 << (i))
#define HAS(set, i) (((set) >> (i)) & 1)
#define COUNT(set) (HAS(set, 0) + HAS(set, 1) + HAS(set, 2) + HAS(set, 3))

byte alive = ALL;
byte deaths;
byte wrongs;

/* By member. A vote is slot * 16 + ballot. */
byte ballot[N] = 1;
byte vote[N];
byte slot[N] = 1; /* the first that it has not decided */
byte gone[N];
bool out[N];

/* By ballot: who has ever promised it; by member and ballot: the vote then. */
byte promised[BALLOTS + 1];
byte shown[N * BALLOTS];
/* By slot and ballot: who has ever voted in it, and for what: 16 + member, or a set. */
byte voted[SLOTS * BALLOTS];
byte value[SLOTS * BALLOTS];
/* By slot. */
byte decision[SLOTS + 2];
byte part[SLOTS + 2];

#ifdef LOST
#define READABLE(i) (ALL & ~gone[i])
#else
#define READABLE(i) ALL
#endif
#define READS(i, j) HAS(READABLE(i), j)
#define TAKES_PART(i, j) HAS(part[slot[i]], j)
#define ACTS(i) (HAS(alive, i) && !out[i] && slot[i] <= SLOTS)
#define AT(i, b) ((slot[i] - 1) * BALLOTS + (b) - 1)
#define OWNS(i, b) (((b) - 1) % N == (i))

#define SAYS_GONE(k, q, others) (!HAS(q, k) || ((others) & ~gone[k]) == 0)
#ifdef SURVIVORS
#define QUORUM(i, q) \
  (((q) & ~part[slot[i]]) == 0 && (q) != 0 && SAYS_GONE(0, q, part[slot[i]] & ~(q)) && \
   SAYS_GONE(1, q, part[slot[i]] & ~(q)) && SAYS_GONE(2, q, part[slot[i]] & ~(q)) && \
   SAYS_GONE(3, q, part[slot[i]] & ~(q)))
#else
#define QUORUM(i, q) (((q) & ~part[slot[i]]) == 0 && 2 * COUNT(q) > COUNT(part[slot[i]]))
#endif
/* A quorum among the members of `set`, of which `i` saw any. */
#define Q(i, q, set) (((q) & ~(set)) == 0 && QUORUM(i, q))
#define SOME_QUORUM(i, set) \
  (Q(i, 1, set) || Q(i, 2, set) || Q(i, 3, set) || Q(i, 4, set) || Q(i, 5, set) || Q(i, 6, set) || \
   Q(i, 7, set) || Q(i, 8, set) || Q(i, 9, set) || Q(i, 10, set) || Q(i, 11, set) || \
   Q(i, 12, set) || Q(i, 13, set) || Q(i, 14, set) || Q(i, 15, set))

/* j is nobody, or somebody whom i takes for gone, or has too many others for gone itself. */
#define HERE(i, j) (part[slot[i]] & ~gone[j])
#define CANNOT_LEAD(i, j) (!HAS(HERE(i, i), j) || !QUORUM(i, HERE(i, j)))
#define LEADS(i) \
  (!CANNOT_LEAD(i, i) && (i <= 0 || CANNOT_LEAD(i, 0)) && (i <= 1 || CANNOT_LEAD(i, 1)) && \
   (i <= 2 || CANNOT_LEAD(i, 2)))

/* The first ballot of its own. Another one it takes when nothing else can happen. */
#define CAMPAIGNS(i) (ACTS(i) && LEADS(i) && ballot[i] < (i) + 1)
#define CAMPAIGNS_AGAIN(i) \
  (ACTS(i) && LEADS(i) && ballot[i] > (i) + 1 && !OWNS(i, ballot[i]) && ballot[i] < N + (i) + 1)

inline promise(i, b) {
  ballot[i] = b;
  promised[b] = promised[b] | BIT(i);
  shown[i * BALLOTS + b - 1] = vote[i]
}

inline vote_in(i, b) {
  voted[AT(i, b)] = voted[AT(i, b)] | BIT(i);
  vote[i] = slot[i] * 16 + b
}

inline decide(i, what) {
  if
  :: decision[slot[i]] == 0 ->
     decision[slot[i]] = what;
     part[slot[i] + 1] = (what < 16 -> part[slot[i]] & ~(what) : part[slot[i]])
  :: else -> assert(decision[slot[i]] == (what))
  fi;
  out[i] = (decision[slot[i]] < 16 && HAS(decision[slot[i]], i));
  slot[i]++
}

/* k, if it is of `set`, knows the decision before i's slot. */
#define KNOWS(i, set, k) (!HAS(set, k) || (READS(i, k) && slot[k] >= slot[i]))
#ifdef MUTANT_HURRY
#define ALL_KNOW(i, set) true
#else
#define ALL_KNOW(i, set) \
  (KNOWS(i, set, 0) && KNOWS(i, set, 1) && KNOWS(i, set, 2) && KNOWS(i, set, 3))
#endif

/* The ballot of k's vote for i's slot, as its promise of i's ballot showed it. */
#define SHOWN(i, k) shown[(k) * BALLOTS + ballot[i] - 1]
#define SHOWN_BALLOT(i, q, k) \
  ((HAS(q, k) && SHOWN(i, k) / 16 == slot[i]) -> SHOWN(i, k) % 16 : 0)
#define LATER(i, q, k) (HAS(q, k) && SHOWN(i, k) / 16 > slot[i])
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* From the promises of the quorum q. */
#ifdef MUTANT_OWN_COPY
#define MAY_PROPOSE(i, q) ((q) == BIT(i))
#else
#define MAY_PROPOSE(i, q) Q(i, q, promised[ballot[i]] & READABLE(i))
#endif
#define HIGHEST(i, q) \
  MAX(MAX(SHOWN_BALLOT(i, q, 0), SHOWN_BALLOT(i, q, 1)), \
      MAX(SHOWN_BALLOT(i, q, 2), SHOWN_BALLOT(i, q, 3)))
#ifdef SURVIVORS
#define NAMED(i, j) 0
#else
#define NAMED(i, j) (HAS(HERE(i, i), j) -> gone[j] & ~(2 * BIT(j) - 1) : 0)
#endif
#define GONE(i) ((gone[i] | NAMED(i, 0) | NAMED(i, 1) | NAMED(i, 2)) & part[slot[i]])
#define FREE(i) ALL_KNOW(i, part[slot[i]] & ~GONE(i))
#define PROPOSES(i, q) \
  (ACTS(i) && LEADS(i) && OWNS(i, ballot[i]) && vote[i] != slot[i] * 16 + ballot[i] && \
   MAY_PROPOSE(i, q) && !LATER(i, q, 0) && !LATER(i, q, 1) && !LATER(i, q, 2) && \
   !LATER(i, q, 3) && (HIGHEST(i, q) != 0 || FREE(i)))
#define propose(i, q) \
  atomic { PROPOSES(i, q) -> \
    value[AT(i, ballot[i])] = (HIGHEST(i, q) != 0 -> value[AT(i, HIGHEST(i, q))] : \
                           (GONE(i) != 0 -> GONE(i) : 16 + i)); \
    vote_in(i, ballot[i]) }

#ifdef MUTANT_NO_PROMISE
#define MAY_VOTE(i, b) (b <= ballot[i])
#else
#define MAY_VOTE(i, b) (b == ballot[i])
#endif
#define votes(i, b) \
  atomic { ACTS(i) && MAY_VOTE(i, b) && vote[i] < slot[i] * 16 + b && \
           (voted[AT(i, b)] & READABLE(i) & part[slot[i]]) != 0 -> vote_in(i, b) }

#define from(i, j) \
  :: atomic { ACTS(i) && READS(i, j) && TAKES_PART(i, j) && ballot[j] > ballot[i] -> \
              promise(i, ballot[j]) } \
  LEARNS(i, j) \
  :: atomic { ACTS(i) && READS(i, j) && slot[j] > slot[i] + 1 -> \
              assert((decision[slot[i]] < 16 && HAS(decision[slot[i]], i)) || \
                     (decision[slot[i] + 1] < 16 && HAS(decision[slot[i] + 1], i))); \
              out[i] = true } \
  :: atomic { HAS(alive, i) && !HAS(gone[i], j) && !HAS(alive, j) -> \
              gone[i] = gone[i] | BIT(j) }

#ifdef MUTANT_NO_TEACHING
#define LEARNS(i, j)
#else
#define LEARNS(i, j) \
  :: atomic { ACTS(i) && READS(i, j) && slot[j] > slot[i] -> decide(i, decision[slot[i]]) }
#endif

#define counts(i, b) \
  atomic { ACTS(i) && vote[i] == slot[i] * 16 + b && \
           SOME_QUORUM(i, voted[AT(i, b)] & READABLE(i)) -> decide(i, value[AT(i, b)]) }

proctype member(byte i) {
end:
  do
  from(i, 0)
  from(i, 1)
  from(i, 2)
  from(i, 3)
  :: votes(i, 1)
  :: votes(i, 2)
  :: votes(i, 3)
  :: votes(i, 4)
  :: votes(i, 5)
  :: votes(i, 6)
  :: votes(i, 7)
  :: votes(i, 8)
  :: counts(i, 1)
  :: counts(i, 2)
  :: counts(i, 3)
  :: counts(i, 4)
  :: counts(i, 5)
  :: counts(i, 6)
  :: counts(i, 7)
  :: counts(i, 8)
  :: atomic { CAMPAIGNS(i) -> promise(i, i + 1) }
  :: atomic { timeout && CAMPAIGNS_AGAIN(i) -> promise(i, N + i + 1) }
  :: propose(i, 1)
  :: propose(i, 2)
  :: propose(i, 3)
  :: propose(i, 4)
  :: propose(i, 5)
  :: propose(i, 6)
  :: propose(i, 7)
  :: propose(i, 8)
  :: propose(i, 9)
  :: propose(i, 10)
  :: propose(i, 11)
  :: propose(i, 12)
  :: propose(i, 13)
  :: propose(i, 14)
  :: propose(i, 15)
  od
}

#define HELD_UP(i) \
  (ACTS(i) && !(CANNOT_LEAD(i, 0) && CANNOT_LEAD(i, 1) && CANNOT_LEAD(i, 2) && CANNOT_LEAD(i, 3)))

#define dies(i) atomic { deaths < DEATHS && HAS(alive, i) -> alive = alive & ~BIT(i); deaths++ }
#define errs(i, j) \
  atomic { wrongs < WRONG && HAS(alive, i) && HAS(alive, j) && !HAS(gone[i], j) -> \
           gone[i] = gone[i] | BIT(j); wrongs++ }

init {
  atomic {
    part[1] = ALL;
    promised[1] = ALL;
    run member(0);
    run member(1);
    run member(2);
    run member(3)
  }
end:
  do
  :: dies(0)
  :: dies(1)
  :: dies(2)
  :: dies(3)
#if WRONG > 0
  :: errs(0, 1)
  :: errs(0, 2)
  :: errs(1, 0)
  :: errs(1, 2)
  :: errs(2, 0)
  :: errs(2, 1)
  :: errs(3, 0)
#else
  :: timeout && !CAMPAIGNS_AGAIN(0) && !CAMPAIGNS_AGAIN(1) && !CAMPAIGNS_AGAIN(2) &&
     !CAMPAIGNS_AGAIN(3) ->
     assert(!HELD_UP(0) && !HELD_UP(1) && !HELD_UP(2) && !HELD_UP(3));
     break
#endif
  od
}
