// SPDX-License-Identifier: MIT
// Model of Collectives::revoke: processes in barriers of several rounds, of which one comes to
// believe, rightly or not, that another one has failed, which learns of that. Each comes out of its
// collectives, well or by throwing, though nobody leaves or is told of the failure by others.

/* spin-check: cc="-DSAFETY" run="-m100000" expect=pass */
/* spin-check: spin="-DALL=3 -DDOUBTS=2" cc="-DSAFETY" run="-m100000" expect=pass */
/* spin-check: spin="-DNOBODY_TELLS" cc="-DSAFETY" expect=fail error="invalid end state" */
/* spin-check: spin="-DNOT_PASSED_ON" cc="-DSAFETY" expect=fail error="invalid end state" */
/* spin-check: spin="-DLATER_WAITS_IGNORE_IT" cc="-DSAFETY" expect=fail error="invalid end state" */

/* Fewest partners that let some hear of it from another one than the first: those of a barrier of
   ALL - 1 rounds, in each of which a process hears from the one before it. */
#ifndef ALL
#define ALL 4
#endif
#define ROUNDS (ALL - 1)
#ifndef BARRIERS
#define BARRIERS 2
#endif
#ifndef DOUBTS
#define DOUBTS 1
#endif

#define NEXT(i) ((i + 1) % ALL)
#define PREVIOUS(i) ((i + ALL - 1) % ALL)
#define DOUBTED(i, j) ((doubts[i] >> (j)) & 1)

byte arrived[ALL];  /* words of the one before */
byte doubts[ALL];   /* a bit for each that it believes to have failed */
bit revoked[ALL];

#define OVER(i) (doubts[i] != 0 || revoked[i])

inline tell(partner) {
  if
  :: !DOUBTED(self, partner) && !DOUBTED(partner, self) -> revoked[partner] = 1
  :: else
  fi
}

active [ALL] proctype Process() {
  byte self = _pid;
  byte count;
  do
  :: count == BARRIERS * ROUNDS -> break
  :: else ->
     atomic {
       if
       :: count % ROUNDS == 0 && OVER(self) -> goto throws
       :: else
       fi;
       count++;
       if
       :: DOUBTED(self, NEXT(self)) -> goto throws
       /* The peer has broken the queue pair: the word is lost, and this one will hear why. */
       :: else -> arrived[NEXT(self)] = arrived[NEXT(self)] + !DOUBTED(NEXT(self), self)
       fi
     }
     if
     :: arrived[self] >= count
#ifdef LATER_WAITS_IGNORE_IT
     :: doubts[self] != 0 || (revoked[self] && count == 1) -> goto throws
#else
     :: OVER(self) -> goto throws
#endif
     fi
  od;
  goto ends;
throws:
#if !defined(NOBODY_TELLS)
  if
#ifdef NOT_PASSED_ON
  :: doubts[self] == 0
#endif
  :: else ->
     atomic { tell(NEXT(self)) }
     atomic { tell(PREVIOUS(self)) }
  fi;
#endif
ends:
  skip
}

/* Process `a` doubts `b`, and goes on; later `b` finds that out. */
active [DOUBTS] proctype Doubt() {
  byte a, b;
  atomic {
    /* The first one: all places in the ring are alike. */
    select(a : 0 .. (_pid == ALL -> 0 : ALL - 1));
    select(b : 0 .. ALL - 1);
    if
    :: a != b -> doubts[a] = doubts[a] | (1 << b)
    :: else -> goto ends
    fi
  }
  doubts[b] = doubts[b] | (1 << a);
ends:
  skip
}
