// SPDX-License-Identifier: MIT
// Moves of nodes between sites: deciders claim, look, confirm; claims are taken away at any time.
/* The subject: Decider::carry_out and Samples (apps/adaptation/src).
   - All nodes begin at site 0, which keeps MINIMUM of them. A node's word is its site, whether it
     is claimed, and a count of changes. Every atomic and every read of a word is a step.
   - A decider has seen a word before it claims, and looks at all words, one by one, afterwards. It
     may stop for ever before each of its steps.
   - The breaker takes any claim away that it has seen, at any later time: so patience with claims
     is of no importance for what is checked here.
   Checked: the site never has fewer nodes than its minimum (a claimed node still serves it).

   The mutants, which must fail:
   MUTANT_LOOK_FIRST: a decider looks before it claims, and not afterwards.
   MUTANT_CLAIMED_STAY: nodes that others have claimed count as staying.
   MUTANT_NO_COUNT: words do not count their changes; a claim of another is taken for one's own. */
/* spin-check: spin="-DMINIMUM=1" cc="-DSAFETY -DMEMLIM=4000" run="-m99999" expect=pass */
/* spin-check: spin="-DMINIMUM=2" cc="-DSAFETY -DMEMLIM=4000" run="-m99999" expect=pass */
/* spin-check: spin="-DMUTANT_LOOK_FIRST" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_CLAIMED_STAY" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_NO_COUNT -DMINIMUM=1" cc="-DSAFETY" expect=fail error="assertion" */

#ifndef MINIMUM
#define MINIMUM 2
#endif
#define NODES 3
#define ROUNDS 3
#define BREAKS 2

/* A word: bit 0 the site, bit 1 claimed, above them the changes. */
byte word[NODES];
byte at_home = NODES;

#define SITE(w) ((w) & 1)
#define CLAIMED(w) (((w) >> 1) & 1)
#ifdef MUTANT_NO_COUNT
#define NEXT(w, bits) (bits)
#else
#define NEXT(w, bits) ((((w) >> 2) + 1) << 2 | (bits))
#endif

inline look() {
  n = 0;
  stay = 0;
  do
  :: n < NODES ->
    if
#ifdef MUTANT_CLAIMED_STAY
    :: SITE(word[n]) == 0 && n != mine -> stay++
#else
    :: SITE(word[n]) == 0 && !CLAIMED(word[n]) && n != mine -> stay++
#endif
    :: else
    fi;
    n++
  :: else -> break
  od
}

proctype Decider(byte rounds) {
  byte mine, seen, n, stay;
  do
  :: rounds > 0 ->
    rounds--;
    atomic {
      select(mine : 0 .. 2);
      seen = word[mine]
    };
    if
    :: SITE(seen) == 1 || CLAIMED(seen) -> goto next
    :: else
    fi;
#ifdef MUTANT_LOOK_FIRST
    look();
#endif
    atomic {
      if
      :: word[mine] == seen -> word[mine] = NEXT(seen, 2); seen = word[mine]
      :: else -> goto next
      fi
    };
#ifndef MUTANT_LOOK_FIRST
    look();
#endif
    atomic {
      if
      :: word[mine] == seen && stay >= MINIMUM ->
        word[mine] = NEXT(seen, 1);
        at_home--;
        assert(at_home >= MINIMUM)
      :: word[mine] == seen && stay < MINIMUM -> word[mine] = NEXT(seen, 0)
      :: else
      fi
    };
next:
    skip
  :: break
  :: rounds > 0 -> goto stopped
  od;
stopped:
  skip
}

proctype Breaker() {
  byte broken = 0, which, seen;
  do
  :: broken < BREAKS ->
    atomic {
      select(which : 0 .. 2);
      seen = word[which]
    };
    atomic {
      if
      :: CLAIMED(seen) && word[which] == seen -> word[which] = NEXT(seen, 0); broken++
      :: else
      fi
    }
  :: break
  od
}

init {
  atomic { run Decider(1); run Decider(ROUNDS); run Breaker() }
}
