// SPDX-License-Identifier: MIT
// A process joins: requests, streams, and donors that die, or leave and come back.
/* The subject: GroupCore::go_on_joining and serve_joiner, Door, StateSource and StateSink. A
   process outside asks members of the newest view that it knows for the state, one after the other,
   each time by a new ticket. Members answer a ticket once. Meanwhile the two members leave and come
   back, or die, LEAVES times, one after the other; and attempts at a view with the process may come
   to nothing, BREAKS times. How a view changes is taken as it is (views.pml): it is one step here,
   or two when the process joins by it.
   A row, or a word of a lane, that arrives late is one that is looked at late, so whoever looks may
   have missed what was there between two looks.
   Checked: the process joins (no invalid end state), by the view that it has made the tables of.

   The mutants, which must fail:
   MUTANT_SILENT: who leaves does not tell the process that it serves.
   MUTANT_NO_LOOK: the process does not ask again when its donor is in the newest view no more.
   MUTANT_PATIENT: the process waits for the commit of a view that the others have gone past.
   MUTANT_SAME_TICKET: the process asks again by the ticket that it had.
   WITNESS: it has joined when both have happened, a donor left and an attempt broke. */
/* spin-check: cc="-DSAFETY -DMEMLIM=4000 -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DMUTANT_SILENT" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DMUTANT_NO_LOOK" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DMUTANT_PATIENT" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DMUTANT_SAME_TICKET" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DWITNESS" cc="-DSAFETY" expect=fail error="assertion" */

#define M 2
#define BOTH 3
#define JOINER 2
#ifndef LEAVES
#define LEAVES 2
#endif
#ifndef BREAKS
#define BREAKS 1
#endif
#define NOBODY 7
#define IN(set, m) (((set) >> (m)) & 1)

/* The view of today, and the member that gives the state while one with the process is made. */
byte view = 1;
byte members = BOTH;
byte attempt = NOBODY;
byte leaves, breaks;
byte away = NOBODY;      /* who has left, and comes back */
bool left_as_donor;

/* Of the process: what it asks, and has taken in; what it knows. */
byte ticket;
byte donor;
byte taken;              /* by ticket: the state */
byte next_view;          /* the one whose tables it has made; 0: none */
byte known_view, known_members;

/* By member: what it has seen of the request, the last ticket that it served, its stream, and the
   last word of its lane: which ticket it is for, and what it says. */
typedef Lane { byte ticket; byte says; byte view }
#define STATE 1
#define CUT 2
#define GIVEN_UP 3
byte seen_ticket[M];
byte seen_donor[M];
byte served[M];
byte source[M];
Lane lane[M];

/* While the process has not joined. */
#define IS_MEMBER(m) (IN(members, m) && !IN(members, JOINER))
#define ASKS(m) (seen_donor[m] == m && seen_ticket[m] == source[m])
#define SAYS(what) (ticket != 0 && lane[donor].ticket == ticket && lane[donor].says == (what))

inline say(m, what) {
  lane[m].ticket = source[m];
  lane[m].says = what;
  lane[m].view = view + 1
}

proctype member(byte m) {
end:
  do
  :: atomic { IS_MEMBER(m) && seen_ticket[m] != ticket ->
       seen_ticket[m] = ticket;
       seen_donor[m] = donor }
  :: atomic { IS_MEMBER(m) && source[m] != 0 && !ASKS(m) -> source[m] = 0 }
  :: atomic { IS_MEMBER(m) && attempt == NOBODY && source[m] == 0 && seen_donor[m] == m &&
              seen_ticket[m] > served[m] ->
       served[m] = seen_ticket[m];
       source[m] = seen_ticket[m];
       say(m, STATE) }
  /* The process has nearly all: the view ends, and it gets the cut. */
  :: atomic { IS_MEMBER(m) && attempt == NOBODY && source[m] != 0 && ASKS(m) &&
              taken == source[m] ->
       attempt = m;
       /* A second cut is behind the first one, which the process takes. */
       if
       :: lane[m].says == STATE -> say(m, CUT)
       :: else
       fi }
  :: atomic { IS_MEMBER(m) && attempt == m && next_view == view + 1 && lane[m].ticket == ticket ->
       attempt = NOBODY;
       source[m] = 0;
       view = view + 1;
       members = members | 1 << JOINER }
  /* For any reason, or because the process has asked again: the next view is without it. */
  :: atomic { IS_MEMBER(m) && attempt == m && (breaks < BREAKS || !ASKS(m)) ->
       if
       :: ASKS(m) -> breaks = breaks + 1
       :: else
       fi;
       attempt = NOBODY;
       view = view + 1 }
  :: atomic { IS_MEMBER(m) && attempt == NOBODY && away == NOBODY && leaves < LEAVES &&
              members == BOTH ->
       leaves = leaves + 1;
       view = view + 1;
       members = members & ~(1 << m);
       if
       :: source[m] = 0 /* it dies */
       :: away = m
       fi;
       if
       :: source[m] != 0 ->
          left_as_donor = true;
#ifndef MUTANT_SILENT
          say(m, GIVEN_UP);
#endif
          source[m] = 0
       :: else
       fi }
  :: atomic { away == m && attempt == NOBODY && !IN(members, JOINER) ->
       away = NOBODY;
       view = view + 1;
       members = members | 1 << m }
  od
}

inline ask_again() {
  next_view = 0;
  if
  :: IN(known_members, 0) -> donor = 0
  :: IN(known_members, 1) -> donor = 1
  fi;
#ifdef MUTANT_SAME_TICKET
  ticket = 1
#else
  ticket = ticket + 1
#endif
}

#ifdef MUTANT_NO_LOOK
#define LEFT false
#else
#define LEFT (!IN(known_members, donor))
#endif
#ifdef MUTANT_PATIENT
#define PASSED_OVER false
#else
#define PASSED_OVER (known_view >= next_view && !IN(known_members, JOINER))
#endif

proctype joiner() {
  do
  :: atomic { known_view < view -> known_view = view; known_members = members }
  :: atomic { ticket == 0 && known_view != 0 -> ask_again() }
  :: atomic { next_view == 0 && ticket != 0 && (SAYS(GIVEN_UP) || LEFT) -> ask_again() }
  :: atomic { next_view == 0 && SAYS(STATE) && taken != ticket -> taken = ticket }
  /* The tables are made with all others, or not at all. */
  :: atomic { next_view == 0 && SAYS(CUT) && taken == ticket -> next_view = lane[donor].view }
  :: atomic { next_view != 0 && IN(members, JOINER) ->
       assert(next_view == view);
#ifdef WITNESS
       assert(!left_as_donor || breaks == 0);
#endif
       break }
  :: atomic { next_view != 0 && PASSED_OVER -> ask_again() }
  od
}

init {
  atomic {
    run joiner();
    run member(0);
    run member(1)
  }
}
